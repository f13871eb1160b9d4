/**
 * Keeps a prediction view live with the events after those it was rendered with. Output comes from
 * untrusted models: it is inserted as text, never as markup.
 */

import { setupText } from "../../../domain/predictions/timeline.ts";
import { parseExact } from "../../../lib/exact-json.ts";
import type { Json } from "../../../protocol/common.ts";
import { RECONNECTING, SIGNED_OUT } from "./current-page.ts";
import { inAccount } from "./element.ts";
import { enhance } from "./enhance.ts";
import { attachTrees } from "./json-tree.ts";
import { LogView } from "./log-view.ts";
import { MarkdownMode } from "./markdown.ts";
import { OutputView } from "./output-view.ts";
import { CancelForm, keepExplained, showElapsed } from "./prediction-controls.ts";
import {
  endedAttemptText,
  fieldOf,
  GONE,
  LiveStream,
  type LiveStreamOptions,
} from "./prediction-stream.ts";
import { replaceElement } from "./replace-element.ts";

/**
 * Dispatches `prediction-status` when another status may be displayed, and `prediction-ended` when the end is
 * displayed; not when loading the end has failed, which is shown instead.
 * @param root the rendered view, or an element that contains it
 * @returns detaches; call it before replacing `root`
 */
export function attachPrediction(root: HTMLElement): () => void {
  const view = root.matches("[data-prediction]")
    ? root
    : root.querySelector<HTMLElement>("[data-prediction]");
  if (!view) return () => {};
  attachTrees(view);
  const markdown = new MarkdownMode(view);
  if (view.dataset.live === undefined) return () => {};
  const live = new LivePrediction(view, markdown);
  return () => live.close();
}

/** Steps within this time are fetched together. */
const STEPS_MS = 150;

const ANSWER_MS = 10_000;

const END_TRIES_MS = [500, 1_000, 2_000, 4_000, 8_000];

/** Time after which a failed cancel is no longer shown. */
const PROBLEM_MS = 10_000;

const END_LOST = "The prediction has finished. Reload the page to see the result.";

class LivePrediction {
  readonly #root: HTMLElement;
  readonly #address: string;
  readonly #stream: LiveStream;
  readonly #output: OutputView;
  readonly #markdown: MarkdownMode;
  readonly #logs: LogView;
  readonly #cancel: CancelForm;
  readonly #stopTicking: () => void;
  readonly #stopExplaining: () => void;
  #phase = "";
  /** Ids have been skipped: a restart may have lost what is displayed, or run it again. */
  #hasGap = false;
  #statusAt = 0;
  #hasFailedToCancel = false;
  #refreshTimer: number | undefined;
  #lostTimer: number | undefined;
  #pendingRefresh: Promise<void> = Promise.resolve();

  constructor(root: HTMLElement, markdown: MarkdownMode) {
    const { prediction: id = "" } = root.dataset;
    this.#root = root;
    this.#address = inAccount(`/predictions/${id}`);
    this.#output = new OutputView(root, () => markdown.update());
    this.#markdown = markdown;
    this.#logs = new LogView(root);
    this.#stopTicking = showElapsed(root);
    this.#stopExplaining = keepExplained(root, this.#address);
    this.#cancel = new CancelForm(root, {
      onSent: () => this.#step(),
      onFailed: (message) => this.#failedToCancel(message),
    });
    this.#stream = new LiveStream({
      address: () => `${this.#address}/events?after_id=${root.dataset.last ?? "0"}`,
      events: this.#events(),
      onConnected: () => this.#connected(),
      onLost: () => this.#lost(),
      mayReturn: () => this.#mayReturn(),
    });
  }

  close(): void {
    this.#stream.close();
    clearTimeout(this.#refreshTimer);
    clearInterval(this.#lostTimer);
    this.#stopTicking();
    this.#stopExplaining();
    this.#output.flush();
    this.#logs.flush();
    this.#cancel.close();
  }

  #events(): LiveStreamOptions["events"] {
    const on =
      (take: (data: Json, json: string, id: number) => void) =>
      ({ data, lastEventId }: MessageEvent<string>) => {
        this.#hasGap ||= Number(lastEventId) > Number(this.#root.dataset.last) + 1;
        this.#root.dataset.last = lastEventId;
        take(parseExact(data), data, Number(lastEventId));
      };
    return {
      status: on((data, _, id) => this.#status(data, id)),
      setup: on((data) => this.#setup(data)),
      output: on((data, json) => {
        const isFirst = this.#output.empty;
        this.#output.add(data, json);
        if (!isFirst || this.#output.empty) return;
        this.#part("note")?.replaceChildren();
        this.#step();
      }),
      logs: on((data) => this.#logs.add(String(data))),
      done: on(() => void this.#done()),
    };
  }

  /** The page may be available while the stream is not. */
  #lost(): void {
    this.#logs.lost();
    this.#freeze(RECONNECTING);
    clearInterval(this.#lostTimer);
    this.#lostTimer = window.setInterval(async () => {
      const state = await this.#loadParts();
      if (state === "ended") void this.#done();
      if (state === "gone") this.#leave(GONE);
    }, ANSWER_MS);
  }

  #connected(): void {
    clearInterval(this.#lostTimer);
    this.#problem(undefined);
    if (this.#root.dataset.left === undefined) return;
    delete this.#root.dataset.left;
    this.#step();
  }

  /** The session has ended, the stream is at its end, or the service cannot give it now. */
  async #mayReturn(): Promise<boolean> {
    const state = await this.#loadParts();
    // The user may log in again, in another tab.
    if (state === "logged out") this.#freeze(SIGNED_OUT);
    if (state === "ended") void this.#done();
    if (state === "gone") this.#leave(GONE);
    return state !== "ended" && state !== "gone";
  }

  /** Final statuses come with the parts of the page, so that no badge of an end stands beside Cancel. */
  #status(data: Json, id: number): void {
    const status = fieldOf(data, "status");
    if (status !== "pending" && status !== "started") return;
    this.#statusAt = id;
    const badge = this.#root.querySelector(".status");
    if (badge) {
      badge.className = `status ${status}`;
      badge.textContent = status;
    }
    this.#dispatch("prediction-status");
    this.#announce(endedAttemptText(data) ?? `Status: ${status}`);
    // The output belongs to the previous attempt.
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

  async #done(): Promise<void> {
    this.close();
    delete this.#root.dataset.live;
    const panel = this.#root.querySelector<HTMLElement>("[data-setup]");
    if (panel) panel.hidden = true;
    this.#problem(undefined);
    for (const wait of [0, ...END_TRIES_MS]) {
      await new Promise((resolve) => setTimeout(resolve, wait));
      const state = await this.#loadParts();
      if (state === "logged out") return this.#leave(SIGNED_OUT);
      if (state === "gone") return this.#leave(GONE);
      if (state !== "ended") continue;
      this.#announce(`Status: ${this.#root.querySelector(".status")?.textContent}`);
      this.#dispatch("prediction-ended");
      return;
    }
    this.#leave(END_LOST);
  }

  #leave(why: string): void {
    this.close();
    this.#freeze(why);
  }

  /** Stops clocks and disables buttons, since the further course of the prediction is unknown. */
  #freeze(why: string): void {
    for (const clock of this.#root.querySelectorAll<HTMLElement>("[data-since]")) {
      delete clock.dataset.since;
      clock.textContent = "–";
    }
    for (const button of this.#root.querySelectorAll<HTMLButtonElement>("[data-cancel]"))
      button.disabled = true;
    this.#root.dataset.left = "";
    this.#problem(why);
  }

  /** Fetches the parts again: the server has the times of the steps. */
  #step(): void {
    if (this.#refreshTimer !== undefined) return;
    this.#refreshTimer = window.setTimeout(() => {
      this.#refreshTimer = undefined;
      this.#pendingRefresh = this.#pendingRefresh.then(async () => void (await this.#loadParts()));
    }, STEPS_MS);
  }

  /** Replaces the parts with those of the server. @returns the state of the prediction */
  async #loadParts(): Promise<"live" | "ended" | "logged out" | "gone" | "failed"> {
    try {
      const signal = AbortSignal.timeout(ANSWER_MS);
      const response = await fetch(`${this.#address}/view`, { signal });
      if (response.redirected || response.status === 401) return "logged out";
      if (response.status === 404) return "gone";
      if (!response.ok) return "failed";
      return this.#replaceParts(await response.text());
    } catch {
      return "failed";
    }
  }

  #replaceParts(html: string): "live" | "ended" {
    const page = new DOMParser().parseFromString(html, "text/html");
    const state = page.querySelector("[data-live]") ? "live" : "ended";
    if (this.#hasFailedToCancel) this.#problem(undefined);
    // The response is from before the end, or from after it while the stream has not sent all output yet.
    if ((this.#root.dataset.live !== undefined) !== (state === "live")) return state;
    const last = Number(page.querySelector<HTMLElement>("[data-prediction]")?.dataset.last);
    for (const part of page.querySelectorAll<HTMLElement>("[data-part]")) {
      const { part: name = "" } = part.dataset;
      const old = this.#part(name);
      if (!old || (state === "live" && this.#isOvertaken(name, last, part))) continue;
      enhance(part);
      attachTrees(part);
      replaceElement(old, part);
    }
    this.#dispatch("prediction-status");
    const isLess =
      this.#hasGap ||
      this.#output.isBeginning ||
      this.#root.querySelector("[data-by-server]") !== null;
    if (state === "ended" && isLess) {
      replaceAppended(this.#root, page);
      this.#markdown.update();
    }
    return state;
  }

  /** Whether the stream has brought something newer than the server's response. */
  #isOvertaken(name: string, last: number, part: HTMLElement): boolean {
    if (name === "note") return !this.#output.empty;
    if (name !== "head") return false;
    return (
      last < this.#statusAt || (this.#cancel.isSent && part.querySelector("[data-cancel]") !== null)
    );
  }

  #part(name: string): HTMLElement | null {
    return this.#root.querySelector(`[data-part="${name}"]`);
  }

  #failedToCancel(message: string): void {
    this.#problem(message);
    this.#hasFailedToCancel = true;
    window.setTimeout(() => this.#step(), PROBLEM_MS);
  }

  #dispatch(name: "prediction-status" | "prediction-ended"): void {
    this.#root.dispatchEvent(new CustomEvent(name, { bubbles: true }));
  }

  #announce(message: string): void {
    const element = this.#root.querySelector("[data-announce]");
    if (element) element.textContent = message;
  }

  #problem(message: string | undefined): void {
    const element = this.#root.querySelector<HTMLElement>("[data-problem]");
    this.#hasFailedToCancel = false;
    if (!element) return;
    element.hidden = message === undefined;
    element.textContent = message ?? "";
  }
}

const APPENDED = ["[data-output]", "[data-more]", "[data-logs]", "[data-logs-hidden]"];

/** @param page the same view as the server renders it */
function replaceAppended(root: HTMLElement, page: Document): void {
  for (const selector of APPENDED) {
    const [old, stored] = [root, page].map((one) => one.querySelector<HTMLElement>(selector));
    if (!old || !stored) continue;
    enhance(stored);
    attachTrees(stored);
    replaceElement(old, stored);
  }
}
