/** What a model puts out, as it comes: texts grow, pictures and sounds show, all else can be unfolded. */
import { BEGINNING, MAX_CHARS } from "../../../domain/predictions/display-limits.ts";
import type { Json } from "../../../protocol/common.ts";
import { isBranch } from "../../prediction-view/branch.ts";
import { isUrlKind, type Output, outputOf, pieceOf } from "../../prediction-view/output-kind.ts";
import { element } from "./element.ts";
import { jsonTree } from "./json-tree.ts";
import { TextBuffer } from "./text-buffer.ts";
import { urlOutput } from "./url-output.ts";

const FULL = Number.POSITIVE_INFINITY;

export class OutputView {
  readonly #box: HTMLElement | null;
  readonly #more: HTMLElement | null;
  readonly #grows: boolean;
  readonly #batch = new TextBuffer((text) => this.#grow(text));
  #chars: number;
  #empty: boolean;

  constructor(root: HTMLElement) {
    this.#box = root.querySelector("[data-output]");
    this.#more = root.querySelector("[data-more]");
    this.#grows = root.dataset.display === "text";
    this.#empty = !this.#box?.childElementCount;
    this.#chars = root.dataset.full === undefined ? Number(root.dataset.chars) : FULL;
  }

  /** Whether there is nothing to be seen yet. */
  get empty(): boolean {
    return this.#empty;
  }

  /** @param json the JSON text of the value */
  add(value: Json, json: string): void {
    this.#chars += json.length;
    if (this.#chars > MAX_CHARS) {
      // Nothing after what is left out: it would look as if it belonged to what is before that.
      this.#chars = FULL;
      if (this.#more) this.#more.hidden = false;
      if (!this.#empty) return;
      this.#empty = false;
      const text = (typeof value === "string" ? value : json).slice(0, BEGINNING);
      this.#box?.append(...elementsFor({ kind: "text", text }));
      return;
    }
    const read = this.#grows ? pieceOf : outputOf;
    const output = read(value, location.host, this.#empty);
    if (output.kind === "text" && output.text === "") return;
    this.#empty = false;
    if (output.kind === "text" && this.#grows) return this.#batch.add(output.text);
    this.flush();
    this.#box?.append(...elementsFor(output));
  }

  flush(): void {
    this.#batch.flush();
  }

  #grow(text: string): void {
    const last = this.#box?.lastElementChild;
    if (!last?.matches(".output-item.text"))
      return this.#box?.append(...elementsFor({ kind: "text", text }));
    const { lastChild } = last;
    if (lastChild instanceof Text) lastChild.appendData(text);
    else last.append(text);
  }
}

/** As run/output.tsx has it. */
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
    case "json":
      return [
        element(
          "div",
          "out",
          isBranch(output.value)
            ? jsonTree(output.value)
            : element("code", "", JSON.stringify(output.value)),
        ),
      ];
  }
}
