/**
 * Markdown of a model as elements. The model is not trusted: its text becomes text nodes, and of
 * addresses only those of web pages become links.
 */
import { type Block, blocksOf, type Span, spansOf } from "../../playground/chat/markdown.ts";
import { keepChoice, keptChoice } from "./choices.ts";
import { button, element, foreignLink } from "./element.ts";

export class MarkdownView {
  readonly root: HTMLElement;
  #shown: { source: string; element: HTMLElement }[] = [];

  constructor(className: string) {
    this.root = element("div", className);
  }

  /** Blocks that stay the same stay where they are, so that a selection survives. */
  update(text: string): void {
    const blocks = blocksOf(text).map((block) => ({ block, source: JSON.stringify(block) }));
    const same = blocks.findIndex(({ source }, n) => this.#shown[n]?.source !== source);
    const kept = same < 0 ? blocks.length : same;
    for (const { element: old } of this.#shown.splice(kept)) old.remove();
    for (const { block, source } of blocks.slice(kept)) {
      const shown = elementOf(block);
      if (block.kind !== "code") shown.dir = "auto";
      this.root.append(shown);
      this.#shown.push({ source, element: shown });
    }
  }
}

function elementOf(block: Block): HTMLElement {
  switch (block.kind) {
    case "code":
      return codeBlock(block.text, block.language);
    case "heading":
      // Headings of an answer are paragraphs: the headings of the page rank above them.
      return element("p", `heading-${Math.min(block.level, 3)}`, ...nodesOf(block.text));
    case "list":
      return listOf(block);
    case "quote":
      return element("blockquote", "", ...nodesOf(block.text));
    case "table":
      return tableOf(block);
    case "rule":
      return element("hr", "");
    case "text":
      return element("p", "", ...nodesOf(block.text));
  }
}

export function codeBlock(text: string, language = ""): HTMLElement {
  const code = element("pre", "", element("code", "", text));
  code.tabIndex = 0;
  const copy = button("Copy", "quiet", () => {});
  copy.dataset.copy = "";
  const box = element("div", "copy lines", code, copy);
  if (language) box.dataset.language = language;
  return box;
}

function listOf({ items, start, depth }: Extract<Block, { kind: "list" }>): HTMLElement {
  const all = items.map((item) => element("li", "", ...nodesOf(item)));
  const list = element(start === null ? "ul" : "ol", "nested", ...all);
  list.style.setProperty("--depth", String(Math.min(depth, 3)));
  if (list instanceof HTMLOListElement && start !== null) list.start = start;
  return list;
}

function tableOf({ head, rows }: Extract<Block, { kind: "table" }>): HTMLElement {
  const row = (name: "th" | "td", cells: string[]) =>
    element("tr", "", ...cells.map((cell) => element(name, "", ...nodesOf(cell))));
  const table = element(
    "table",
    "",
    element("thead", "", row("th", head)),
    element("tbody", "", ...rows.map((cells) => row("td", cells))),
  );
  const box = element("div", "scroll", table);
  box.tabIndex = 0;
  return box;
}

const nodesOf = (text: string): Node[] => spansOf(text).map(nodeOf);

function nodeOf(span: Span): Node {
  if (span.kind === "text") return new Text(span.text);
  if (span.kind !== "link") return element(span.kind, "", span.text);
  return foreignLink(span.address, span.text);
}

const KEY = "markdown";

export class MarkdownMode {
  readonly #root: HTMLElement;
  readonly #views = new Map<HTMLElement, MarkdownView>();
  #isOn = keptChoice(KEY) === "on";

  constructor(root: HTMLElement) {
    this.#root = root;
    const button = root.querySelector<HTMLButtonElement>("[data-markdown]");
    if (!button) return;
    button.hidden = false;
    button.ariaPressed = String(this.#isOn);
    button.addEventListener("click", () => {
      this.#isOn = !this.#isOn;
      button.ariaPressed = String(this.#isOn);
      keepChoice(KEY, this.#isOn ? "on" : "off");
      this.#turn();
    });
    this.update();
  }

  update(): void {
    if (!this.#isOn) return;
    for (const text of this.#root.querySelectorAll<HTMLElement>("[data-output] .text")) {
      const view = this.#views.get(text) ?? new MarkdownView("output-item prose");
      this.#views.set(text, view);
      view.update(text.textContent);
      if (view.root.parentElement !== text.parentElement) text.before(view.root);
      text.hidden = true;
    }
  }

  #turn(): void {
    for (const [text, view] of this.#views) {
      text.hidden = this.#isOn;
      view.root.hidden = !this.#isOn;
    }
    this.update();
  }
}
