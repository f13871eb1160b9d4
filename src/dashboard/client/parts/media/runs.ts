/** The runs of a view of pictures or sounds, newest first; this tab keeps which they are. */
import type { Input } from "../../../../domain/schemas/input-form-values.ts";
import { type MediaItem, MediaOutputs, timeText } from "../../../playground/media-outputs.ts";
import { type KnownField, labelOf } from "../../../playground/run-inputs.ts";
import { codeBlock } from "../chat/markdown-view.ts";
import { element } from "../element.ts";
import { jsonTree } from "../json-tree.ts";
import { leaveExample } from "../leave-example.ts";
import type { Result } from "../playground.ts";
import { requiredElement } from "../playground-form.ts";
import { post } from "../post.ts";
import { type Ending, PredictionStream, type Status } from "../prediction-stream.ts";
import { RecentRuns } from "../recent-runs.ts";
import { RunSteps } from "../run-steps.ts";
import { attachZoom, zoomButton } from "../zoom.ts";
import { blobAddress } from "./blob-address.ts";

/** Older ones are found among the predictions. */
const MAX_RUNS = 12;

interface Kept {
  id: string;
  label: string;
}

export class MediaRuns implements Result {
  readonly #list: HTMLElement;
  readonly #empty: HTMLElement;
  readonly #status: HTMLElement;
  readonly #key: string;
  readonly #recent: RecentRuns;
  readonly #steps: RunSteps;
  readonly #useAsInput: ((address: string) => void) | undefined;
  readonly #fields: KnownField[];
  #runs: { kept: Kept; card: RunCard }[] = [];

  constructor(root: HTMLElement, useAsInput: ((address: string) => void) | undefined) {
    this.#list = requiredElement(root, "[data-runs]", HTMLElement);
    this.#empty = requiredElement(root, "[data-no-runs]", HTMLElement);
    this.#status = requiredElement(root, "[data-announce-result]", HTMLElement);
    this.#useAsInput = useAsInput;
    this.#recent = new RecentRuns(root);
    this.#steps = new RunSteps(root);
    attachZoom(this.#list);
    const { user, model, fields = "[]" } = root.dataset;
    this.#fields = JSON.parse(fields);
    this.#key = `auspex.runs.1:${user}:${model}`;
    const { opened, label = "" } = this.#list.dataset;
    const others = readKept(sessionStorage.getItem(this.#key)).filter(({ id }) => id !== opened);
    for (const kept of others.toReversed()) this.#add(kept);
    if (opened !== undefined) this.#add({ id: opened, label });
  }

  async open(id: string, input: Input): Promise<void> {
    this.#steps.begin(id);
    this.#status.textContent = "The model runs.";
    leaveExample(document);
    this.#add({ id, label: labelOf(input, this.#fields) });
    this.#keep();
    this.#recent.refreshSoon();
  }

  #add(kept: Kept): void {
    const { id, label } = kept;
    const card = new RunCard({
      id,
      label,
      useAsInput: this.#useAsInput,
      onStatus: (status) => this.#recent.say(id, status),
      onEnd: (message) => {
        this.#status.textContent = message;
      },
    });
    this.#runs.unshift({ kept, card });
    this.#list.prepend(card.root);
    this.#empty.hidden = true;
    for (const { card: old } of this.#runs.splice(MAX_RUNS)) {
      old.close();
      old.root.remove();
    }
  }

  #keep(): void {
    try {
      sessionStorage.setItem(this.#key, JSON.stringify(this.#runs.map(({ kept }) => kept)));
    } catch {
      // The runs are not kept if the browser's storage is full or off.
    }
  }
}

function readKept(text: string | null): Kept[] {
  try {
    const value: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(value) ? value.filter(isKept).slice(0, MAX_RUNS) : [];
  } catch {
    return [];
  }
}

const isKept = (one: unknown): one is Kept =>
  typeof one === "object" &&
  one !== null &&
  "id" in one &&
  typeof one.id === "string" &&
  /^[\w-]+$/.test(one.id) &&
  "label" in one &&
  typeof one.label === "string";

/** One run of a view of pictures or sounds: its input in words, its status and its output. */
interface RunOptions {
  id: string;
  /** The run's input in words. */
  label: string;
  /** Uses a picture as input; undefined where the model takes no picture. */
  useAsInput: ((address: string) => void) | undefined;
  onStatus: (status: Status) => void;
  onEnd: (message: string) => void;
}

class RunCard {
  readonly root = element("li", "media-run");
  readonly #options: RunOptions;
  readonly #outputs = new MediaOutputs(location.host);
  readonly #note = element("p", "media-note hint");
  readonly #problem = element("p", "problem");
  readonly #partial = element("img", "media-partial");
  readonly #items = element("div", "media-items");
  readonly #text = element("div", "media-text");
  readonly #cancel = element("button", "quiet", "Cancel");
  readonly #stream: PredictionStream;
  #shown = 0;

  constructor(options: RunOptions) {
    this.#options = options;
    const { id, label } = options;
    const link = element("a", "", "Prediction");
    link.href = `/predictions/${id}`;
    this.#cancel.type = "button";
    this.#cancel.addEventListener("click", () => void this.#stop());
    this.#problem.hidden = true;
    this.#partial.hidden = true;
    this.#partial.alt = "The picture so far";
    this.root.ariaBusy = "true";
    this.root.append(
      element("div", "bar media-head", element("p", "media-label", label), this.#cancel, link),
      this.#note,
      this.#problem,
      this.#partial,
      this.#items,
      this.#text,
    );
    this.#stream = new PredictionStream(id, {
      status: options.onStatus,
      output: (value) => {
        this.#outputs.take(value);
        this.#show();
      },
      metrics: () => {},
      note: (note = "") => {
        this.#note.textContent = note;
      },
      end: (ending) => this.#ended(ending),
    });
  }

  close(): void {
    this.#stream.close();
  }

  async #stop(): Promise<void> {
    this.#cancel.disabled = true;
    this.#cancel.textContent = "Canceling…";
    this.#showProblem(undefined);
    try {
      await post(`/predictions/${this.#options.id}/cancel`);
    } catch (error) {
      // The prediction may have ended by itself meanwhile.
      if (this.root.ariaBusy !== "true") return;
      this.#cancel.disabled = false;
      this.#cancel.textContent = "Cancel";
      this.#showProblem(error instanceof Error ? error.message : String(error));
    }
  }

  #showProblem(problem: string | undefined): void {
    this.#problem.hidden = problem === undefined;
    this.#problem.textContent = problem ?? "";
  }

  #show(): void {
    const { items, partial, text, segments } = this.#outputs;
    this.#partial.hidden = partial === undefined;
    if (partial !== undefined) this.#partial.src = partial;
    for (const item of items.slice(this.#shown)) this.#items.append(this.#itemView(item));
    this.#shown = items.length;
    if (text === "") return;
    const parts: Node[] = [codeBlock(text)];
    if (segments.length > 0) {
      const rows = segments.map(({ start, end, text: said }) =>
        element(
          "li",
          "",
          element("span", "media-time", timeText(start)),
          element("span", "", said),
          ...(end === undefined ? [] : [element("small", "", `${(end - start).toFixed(1)} s`)]),
        ),
      );
      parts.push(element("ol", "media-segments", ...rows));
    }
    this.#text.replaceChildren(...parts);
  }

  #itemView(item: MediaItem): HTMLElement {
    if (item.kind === "json") {
      const { value } = item;
      return typeof value === "object" && value !== null
        ? jsonTree(value)
        : element("code", "", JSON.stringify(value));
    }
    const address = item.kind === "audio" ? blobAddress(item.address) : item.address;
    if (item.kind === "link") {
      const link = element("a", "", item.name);
      link.href = address;
      link.rel = "noopener noreferrer nofollow";
      return element("p", "", link);
    }
    const figure = element("figure", `media-item ${item.kind}`);
    figure.append(...this.#mediaOf(item.kind, address, item.name));
    figure.append(element("figcaption", "", ...this.#actionsOf(item.kind, address, item.name)));
    return figure;
  }

  #mediaOf(kind: "image" | "audio" | "video" | "file", address: string, name: string): Node[] {
    if (kind === "file") return [];
    if (kind === "image") {
      const image = element("img", "");
      image.src = address;
      image.alt = this.#options.label || name;
      return [zoomButton(image)];
    }
    const player = element(kind, "");
    player.src = address;
    player.controls = true;
    player.preload = "metadata";
    player.ariaLabel = name;
    return [player];
  }

  #actionsOf(kind: MediaItem["kind"], address: string, name: string): Node[] {
    const download = element("a", "", "Download");
    download.href = address;
    download.download = address.startsWith("data:") ? "picture" : name;
    const actions: Node[] = [download];
    if (kind !== "image") return actions;
    const open = element("button", "plain", "Open");
    open.type = "button";
    open.addEventListener("click", () => window.open(blobAddress(address), "_blank", "noopener"));
    actions.push(open);
    const { useAsInput } = this.#options;
    if (!useAsInput) return actions;
    const use = element("button", "plain", "Use as input");
    use.type = "button";
    use.addEventListener("click", () => useAsInput(address));
    return [...actions, use];
  }

  #ended({ status, message = "" }: Ending): void {
    this.#outputs.end();
    this.#show();
    this.root.ariaBusy = "false";
    this.#note.hidden = true;
    this.#partial.hidden = true;
    this.#cancel.remove();
    const isBare = this.#outputs.isEmpty;
    const problem =
      status === "failed" ? message : status === "canceled" ? "Canceled." : isBare && "No output.";
    this.#showProblem(problem || undefined);
    this.#problem.classList.toggle("mild", status !== "failed");
    this.#options.onEnd(problem || this.#outputs.text || "The result is there.");
  }
}
