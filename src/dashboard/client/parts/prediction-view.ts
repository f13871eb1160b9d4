/**
 * A run that goes on: the events after those that the page was made with, as they come. Whatever
 * it shows was put out by a stranger's model: it is text, never markup.
 */
import type { Json } from "../../../protocol/common.ts";
import { setupText } from "../../prediction-view/setup-text.ts";
import { showElapsed } from "./elapsed.ts";
import { enhance } from "./enhance.ts";
import { attachTrees } from "./json-tree.ts";
import { LogView } from "./log-view.ts";
import { OutputView } from "./output-view.ts";
import { post } from "./post.ts";
import { replaceElement } from "./replace-element.ts";

/**
 * Dispatches `prediction-ended` from the run when it has ended and all of it is shown; not when how it
 * ended cannot be had, which is said.
 * @param root with a RunView in it, or itself one; as the server has made it
 * @returns ends it, before `root` is replaced
 */
export function attachPrediction(root: HTMLElement): () => void {
  const view = root.matches("[data-prediction]")
    ? root
    : root.querySelector<HTMLElement>("[data-prediction]");
  if (!view) return () => {};
  attachTrees(view);
  if (view.dataset.live === undefined) return () => {};
  const live = new LivePrediction(view);
  return () => live.close();
}

/** Steps that come together are asked for together. */
const STEPS_MS = 150;

/** A stream ends after some minutes, and a browser begins the next by itself, after 3 s or so. */
const RECONNECT_NOTICE_MS = 8_000;

/** Between the tries to learn how it has ended. */
const END_TRIES_MS = [500, 1_000, 2_000, 4_000, 8_000];

const SIGNED_OUT = "You are signed out. Sign in, then reload the page.";
const LOST = "Connection lost. Reload the page to see progress.";
const END_LOST = "The prediction has finished. Reload the page to see the result.";

class LivePrediction {
  readonly #root: HTMLElement;
  readonly #address: string;
  readonly #source: EventSource;
  readonly #output: OutputView;
  readonly #logs: LogView;
  readonly #stopTicking: () => void;
  #phase = "";
  /** The id of the status that is shown. */
  #statusAt = 0;
  #refresh: number | undefined;
  #losing: number | undefined;
  #refreshing: Promise<void> = Promise.resolve();

  constructor(root: HTMLElement) {
    const { prediction: id = "", last = "0" } = root.dataset;
    this.#root = root;
    this.#address = `/predictions/${id}`;
    this.#output = new OutputView(root);
    this.#logs = new LogView(root);
    this.#stopTicking = showElapsed(root);
    root.addEventListener("submit", this.#cancel);
    this.#source = new EventSource(`${this.#address}/events?after_id=${last}`);
    this.#listen();
  }

  close(): void {
    this.#source.close();
    clearTimeout(this.#refresh);
    clearTimeout(this.#losing);
    this.#stopTicking();
    this.#output.flush();
    this.#logs.flush();
    this.#root.removeEventListener("submit", this.#cancel);
  }

  #listen(): void {
    const on = (name: string, take: (data: Json, json: string, id: number) => void) =>
      this.#source.addEventListener(name, ({ data, lastEventId }: MessageEvent<string>) => {
        this.#root.dataset.last = lastEventId;
        take(JSON.parse(data), data, Number(lastEventId));
      });
    on("status", (data, _, id) => this.#status(data, id));
    on("setup", (data) => this.#setup(data));
    on("output", (data, json) => {
      const isFirst = this.#output.empty;
      this.#output.add(data, json);
      if (!isFirst || this.#output.empty) return;
      this.#part("note")?.replaceChildren();
      this.#step();
    });
    on("logs", (data) => this.#logs.add(String(data)));
    on("done", () => void this.#done());
    this.#source.onopen = () => this.#found();
    this.#source.onerror = (event) => {
      // The log's own event of that name comes here, too.
      if (event instanceof MessageEvent) return;
      if (this.#source.readyState === EventSource.CLOSED) void this.#refused();
      // It comes back by itself, from where it was.
      else
        this.#losing ??= window.setTimeout(
          () => this.#problem("Connection lost. Reconnecting…"),
          RECONNECT_NOTICE_MS,
        );
    };
  }

  #found(): void {
    clearTimeout(this.#losing);
    this.#losing = undefined;
    this.#problem(undefined);
  }

  /** The stream is not for this reader any more, or is at its end. */
  async #refused(): Promise<void> {
    clearTimeout(this.#losing);
    const taken = await this.#takeParts();
    if (taken === "ended") return this.#done();
    this.#problem(taken === "signed out" ? SIGNED_OUT : LOST);
  }

  /** An end is shown when all that goes with it is there: no badge of one beside a Cancel. */
  #status(data: Json, id: number): void {
    const status = fieldOf(data, "status");
    if (status !== "pending" && status !== "started") return;
    this.#statusAt = id;
    const badge = this.#root.querySelector(".status");
    if (badge) {
      badge.className = `status ${status}`;
      badge.textContent = status;
    }
    this.#announce(endedAttemptText(data) ?? `Status: ${status}`);
    // What a runner before was getting ready.
    this.#phase = "";
    const panel = this.#root.querySelector<HTMLElement>("[data-setup]");
    if (panel) panel.hidden = true;
    this.#step();
  }

  #setup(data: Json): void {
    const [phase, message, progress, logs] = ["phase", "message", "progress", "logs"].map((name) =>
      fieldOf(data, name),
    );
    if (phase !== "pulling" && phase !== "starting" && phase !== "ready") return;
    if (typeof logs === "string") this.#logs.add(logs);
    if (phase !== this.#phase) this.#step();
    this.#phase = phase;
    const panel = this.#root.querySelector<HTMLElement>("[data-setup]");
    const text = panel?.querySelector("[data-setup-text]");
    const bar = panel?.querySelector("progress");
    if (!panel || !text || !bar) return;
    panel.hidden = phase === "ready";
    text.textContent = setupText({
      phase,
      ...(typeof message === "string" && { message }),
      ...(typeof progress === "number" && { progress }),
    });
    if (typeof progress === "number") bar.value = progress;
    else bar.removeAttribute("value");
  }

  /** The end: what the server says of it is all there is to be said. */
  async #done(): Promise<void> {
    this.close();
    delete this.#root.dataset.live;
    const panel = this.#root.querySelector<HTMLElement>("[data-setup]");
    if (panel) panel.hidden = true;
    this.#problem(undefined);
    for (const wait of [0, ...END_TRIES_MS]) {
      await new Promise((resolve) => setTimeout(resolve, wait));
      const taken = await this.#takeParts();
      if (taken === "signed out") return this.#problem(SIGNED_OUT);
      if (taken !== "ended") continue;
      this.#announce(`Status: ${this.#root.querySelector(".status")?.textContent}`);
      this.#root.dispatchEvent(new CustomEvent("prediction-ended", { bubbles: true }));
      return;
    }
    this.#problem(END_LOST);
  }

  /** The next step is there: the server knows when, and for how long. */
  #step(): void {
    if (this.#refresh !== undefined) return;
    this.#refresh = window.setTimeout(() => {
      this.#refresh = undefined;
      this.#refreshing = this.#refreshing.then(async () => void (await this.#takeParts()));
    }, STEPS_MS);
  }

  /** What the server says of it at this moment, and whether it has ended. */
  async #takeParts(): Promise<"live" | "ended" | "signed out" | "failed"> {
    try {
      const response = await fetch(`${this.#address}/view`);
      if (response.redirected || response.status === 401) return "signed out";
      if (!response.ok) return "failed";
      return this.#putParts(await response.text());
    } catch {
      return "failed";
    }
  }

  #putParts(html: string): "live" | "ended" {
    const page = new DOMParser().parseFromString(html, "text/html");
    const state = page.querySelector("[data-live]") ? "live" : "ended";
    // An answer that was overtaken by the end: what came then is newer.
    if (this.#root.dataset.live === undefined && state === "live") return state;
    const last = Number(page.querySelector<HTMLElement>("[data-prediction]")?.dataset.last);
    for (const part of page.querySelectorAll<HTMLElement>("[data-part]")) {
      const { part: name = "" } = part.dataset;
      const old = this.#part(name);
      if (!old || (state === "live" && this.#isOvertaken(name, last))) continue;
      enhance(part);
      attachTrees(part);
      replaceElement(old, part);
    }
    return state;
  }

  /** What came by the stream while the server's answer was on its way is newer. */
  #isOvertaken(part: string, last: number): boolean {
    return (part === "note" && !this.#output.empty) || (part === "head" && last < this.#statusAt);
  }

  #part(name: string): HTMLElement | null {
    return this.#root.querySelector(`[data-part="${name}"]`);
  }

  readonly #cancel = async (event: SubmitEvent): Promise<void> => {
    if (!(event.target instanceof HTMLFormElement)) return;
    const button = event.target.querySelector<HTMLButtonElement>("[data-cancel]");
    if (!button) return;
    event.preventDefault();
    button.disabled = true;
    button.textContent = "Canceling…";
    try {
      await post(event.target.action);
      this.#step();
    } catch (error) {
      this.#problem(error instanceof Error ? error.message : String(error));
      button.disabled = false;
      button.textContent = "Cancel";
    }
  };

  #announce(words: string): void {
    const place = this.#root.querySelector("[data-announce]");
    if (place) place.textContent = words;
  }

  #problem(words: string | undefined): void {
    const place = this.#root.querySelector<HTMLElement>("[data-problem]");
    if (!place) return;
    place.hidden = words === undefined;
    place.textContent = words ?? "";
  }
}

/** What a change of the status says of an attempt that came to nothing. */
function endedAttemptText(data: Json): string | undefined {
  if (fieldOf(data, "lost") !== undefined) return "The runner was lost. Waiting for another.";
  if (fieldOf(data, "returned") !== undefined)
    return "The runner returned the prediction. Waiting for another.";
  return undefined;
}

const fieldOf = (data: Json, name: string): unknown =>
  typeof data === "object" && data !== null
    ? Object.getOwnPropertyDescriptor(data, name)?.value
    : undefined;
