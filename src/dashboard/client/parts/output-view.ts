/** What a model puts out, as it comes: texts grow, pictures and sounds show, all else can be unfolded. */
import { BEGINNING, MAX_CHARS } from "../../../domain/predictions/display-limits.ts";
import type { Json } from "../../../protocol/common.ts";
import { isBranch } from "../../prediction-view/branch.ts";
import {
  isLinked,
  type OutputKind,
  outputKind,
  shownPiece,
} from "../../prediction-view/output-kind.ts";
import { Batch } from "./batch.ts";
import { element } from "./element.ts";
import { jsonTree } from "./json-tree.ts";
import { linked } from "./linked.ts";

const FULL = Number.POSITIVE_INFINITY;

export class OutputView {
  readonly #box: HTMLElement | null;
  readonly #more: HTMLElement | null;
  readonly #grows: boolean;
  readonly #batch = new Batch((text) => this.#grow(text));
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
      this.#box?.append(...elementsFor({ as: "text", text }));
      return;
    }
    const read = this.#grows ? shownPiece : outputKind;
    const found = read(value, location.host, this.#empty);
    if (found.as === "text" && found.text === "") return;
    this.#empty = false;
    if (found.as === "text" && this.#grows) return this.#batch.add(found.text);
    this.flush();
    this.#box?.append(...elementsFor(found));
  }

  flush(): void {
    this.#batch.flush();
  }

  #grow(text: string): void {
    const last = this.#box?.lastElementChild;
    if (!last?.matches(".out.text")) return this.#box?.append(...elementsFor({ as: "text", text }));
    const { lastChild } = last;
    if (lastChild instanceof Text) lastChild.appendData(text);
    else last.append(text);
  }
}

/** As run/output.tsx has it. */
function elementsFor(found: OutputKind): HTMLElement[] {
  if (isLinked(found)) return [linked(found)];
  switch (found.as) {
    case "text":
      return [element("div", "out text", found.text)];
    case "list": {
      const items = found.items.map((item) =>
        element("li", "", ...elementsFor(outputKind(item, location.host))),
      );
      return [element("ul", "out list", ...items)];
    }
    case "json":
      return [
        element(
          "div",
          "out",
          isBranch(found.value)
            ? jsonTree(found.value)
            : element("code", "", JSON.stringify(found.value)),
        ),
      ];
  }
}
