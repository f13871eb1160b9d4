/** The runs of a view of pictures or sounds, newest first; this tab keeps which they are. */

import { dataUriHead } from "../../../domain/files/data-uri.ts";
import type { Input } from "../../../domain/schemas/input-form-values.ts";
import { type MediaItem, MediaOutputs, timeText } from "../../playground/media-outputs.ts";
import { type KnownField, labelOf } from "../../playground/run-inputs.ts";
import { store } from "./choices.ts";
import { button, element, foreignLink, inAccount, link, pictureLink, player } from "./element.ts";
import { jsonTree } from "./json-tree.ts";
import { codeBlock } from "./markdown.ts";
import type { Result } from "./playground.ts";
import { requiredElement } from "./playground-form.ts";
import { messageOf, post } from "./post.ts";
import { type Ending, PredictionStream, type Status } from "./prediction-stream.ts";
import { RecentRuns } from "./recent-runs.ts";
import { leaveExample, RunSteps } from "./run-steps.ts";

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
    this.#status.textContent = "Running…";
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
      onStatus: (status) => this.#recent.setStatus(id, status),
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
    store(sessionStorage, this.#key, JSON.stringify(this.#runs.map(({ kept }) => kept)));
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
  readonly #items = element("div", "cards media-items");
  readonly #text = element("div", "media-text");
  readonly #cancel = button("Cancel", "quiet", () => void this.#stop());
  readonly #stream: PredictionStream;
  #shown = 0;

  constructor(options: RunOptions) {
    this.#options = options;
    const { id, label } = options;
    this.#problem.hidden = true;
    this.#partial.hidden = true;
    this.#partial.alt = "Preview";
    this.root.ariaBusy = "true";
    this.root.append(
      element(
        "div",
        "bar media-head",
        element("p", "media-label quiet", label),
        this.#cancel,
        link(inAccount(`/predictions/${id}`), "Prediction"),
      ),
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
      await post(inAccount(`/predictions/${this.#options.id}/cancel`));
    } catch (error) {
      // The prediction may have ended by itself meanwhile.
      if (this.root.ariaBusy !== "true") return;
      this.#cancel.disabled = false;
      this.#cancel.textContent = "Cancel";
      this.#showProblem(messageOf(error));
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
      const rows = segments.map(({ start, end, text: spoken }) =>
        element(
          "li",
          "",
          element("span", "quiet", timeText(start)),
          element("span", "", spoken),
          ...(end === undefined ? [] : [element("small", "", `${(end - start).toFixed(1)} s`)]),
        ),
      );
      parts.push(element("ol", "ruled media-segments", ...rows));
    }
    this.#text.replaceChildren(...parts);
  }

  #itemView(item: MediaItem): HTMLElement {
    if (item.kind === "json") return jsonTree(item.value);
    const address = item.kind === "audio" ? blobAddress(item.address) : item.address;
    if (item.kind === "link") return element("p", "", foreignLink(address, item.name));
    const { kind, name } = item;
    return element(
      "figure",
      `media-item ${kind}`,
      ...(kind === "image" ? [pictureLink(address, this.#options.label || name)] : []),
      ...(kind === "audio" || kind === "video" ? [player(kind, address, name)] : []),
      element("figcaption", "", ...this.#actionsOf(kind, address, name)),
    );
  }

  #actionsOf(kind: MediaItem["kind"], address: string, name: string): Node[] {
    const download = link(address, "Download");
    download.download = address.startsWith("data:") ? "picture" : name;
    if (kind !== "image") return [download];
    const open = () => window.open(blobAddress(address), "_blank", "noopener");
    const { useAsInput } = this.#options;
    return [
      download,
      button("Open", "plain", open),
      ...(useAsInput ? [button("Use as input", "plain", () => useAsInput(address))] : []),
    ];
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
    this.#options.onEnd(problem || this.#outputs.text || "Done.");
  }
}

/** A data URL as the address of a blob: pages neither play data URLs nor open them. */
function blobAddress(address: string): string {
  const blob = blobOf(address);
  return blob ? URL.createObjectURL(blob) : address;
}

/** Returns the blob of a data URL; undefined for any other address. */
export function blobOf(address: string): Blob | undefined {
  const head = dataUriHead(address);
  if (!head) return undefined;
  const base64 = address.slice(head.length);
  const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  return new Blob([bytes], { type: head.mime_type });
}
