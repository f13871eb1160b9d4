/** Appends streamed output: text grows, media is shown, other values become trees. */
import { BEGINNING, MAX_CHARS } from "../../../domain/predictions/display-limits.ts";
import type { Json } from "../../../protocol/common.ts";
import { countText } from "../../prediction-view/embeddings.ts";
import { isUrlKind, type Output, outputOf, pieceOf } from "../../prediction-view/output-kind.ts";
import { element } from "./element.ts";
import { jsonTree } from "./json-tree.ts";
import { urlOutput } from "./url-output.ts";

const FULL = Number.POSITIVE_INFINITY;

export class OutputView {
  readonly #box: HTMLElement | null;
  readonly #more: HTMLElement | null;
  readonly #joinsText: boolean;
  readonly #onText: () => void;
  readonly #buffer = new TextBuffer((text) => this.#appendText(text));
  #chars: number;
  #empty: boolean;
  #isBeginning = false;

  /** @param onText called when text has been shown */
  constructor(root: HTMLElement, onText: () => void) {
    this.#onText = onText;
    this.#box = root.querySelector("[data-output]");
    this.#more = root.querySelector("[data-more]");
    this.#joinsText = root.dataset.display === "text";
    this.#empty = !this.#box?.childElementCount;
    this.#chars = root.dataset.full === undefined ? Number(root.dataset.chars) : FULL;
  }

  get empty(): boolean {
    return this.#empty;
  }

  /** Whether only a part of a value is shown: the server cuts it where the rest goes on. */
  get isBeginning(): boolean {
    return this.#isBeginning;
  }

  /** @param json the JSON text of the value */
  add(value: Json, json: string): void {
    this.#chars += json.length;
    if (this.#chars > MAX_CHARS) {
      // Stops for good: later output would look like a continuation of what is displayed.
      this.#chars = FULL;
      if (this.#more) this.#more.hidden = false;
      if (!this.#empty) return;
      this.#empty = false;
      this.#isBeginning = true;
      const text = (json.startsWith('"') ? String(value) : json).slice(0, BEGINNING);
      this.#box?.append(...elementsFor({ kind: "text", text }));
      return;
    }
    const convert = this.#joinsText ? pieceOf : outputOf;
    const output = convert(value, location.host, this.#empty);
    if (output.kind === "text" && output.text === "") return;
    this.#empty = false;
    if (output.kind === "text" && this.#joinsText) return this.#buffer.add(output.text);
    this.flush();
    this.#box?.append(...elementsFor(output));
    this.#onText();
  }

  flush(): void {
    this.#buffer.flush();
  }

  #appendText(text: string): void {
    const last = this.#box?.lastElementChild;
    if (!last?.matches(".output-item.text"))
      this.#box?.append(...elementsFor({ kind: "text", text }));
    else if (last.lastChild instanceof Text) last.lastChild.appendData(text);
    else last.append(text);
    this.#onText();
  }
}

/** The markup is that of prediction-view/output.tsx, except for parts that the server renders at the end. */
function elementsFor(output: Output): HTMLElement[] {
  if (isUrlKind(output)) return [urlOutput(output)];
  switch (output.kind) {
    case "text":
      return [element("div", "output-item text", output.text)];
    case "list": {
      const items = output.items.map((item) =>
        element("li", "", ...elementsFor(outputOf(item, location.host))),
      );
      return [element("ul", "output-item list", ...items)];
    }
    case "embeddings": {
      const summary = element("p", "output-item hint", countText(output.vectors));
      summary.dataset.byServer = "";
      return [summary];
    }
    case "json":
      return [element("div", "output-item", jsonTree(output.value))];
  }
}

/** Collects streamed text and flushes it once per animation frame. */
export class TextBuffer {
  readonly #take: (text: string) => void;
  #pieces: string[] = [];
  #frame: number | undefined;

  constructor(take: (text: string) => void) {
    this.#take = take;
  }

  add(text: string): void {
    if (text === "") return;
    this.#pieces.push(text);
    this.#frame ??= requestAnimationFrame(() => this.flush());
  }

  flush(): void {
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
    this.#frame = undefined;
    const text = this.#pieces.join("");
    this.#pieces = [];
    if (text !== "") this.#take(text);
  }
}
