/** A value as a tree: a branch is made when it is first unfolded. */
import type { Json } from "../../../protocol/common.ts";
import { type Branch, type Entry, isBranch, paged, sizeText } from "../../run/branch.ts";

/** Makes branches of the texts that the server has made, once they are unfolded. */
export function growTrees(root: ParentNode): void {
  for (const text of root.querySelectorAll<HTMLElement>(".json pre")) {
    text.parentElement?.addEventListener(
      "toggle",
      () => {
        const value: Json = JSON.parse(text.textContent);
        if (isBranch(value)) text.replaceWith(list(entriesOf(value, Number(text.dataset.from))));
      },
      { once: true },
    );
  }
}

/** @param from the place of the first item, of a list whose first ones are elsewhere */
const entriesOf = (value: Branch, from: number): Entry[] =>
  Array.isArray(value)
    ? value.map((one, n): Entry => [String(from + n), one])
    : Object.entries(value);

/** The tree, its first level unfolded; as run/json.tsx has it. */
export function jsonTree(value: Branch): HTMLDetailsElement {
  const tree = document.createElement("details");
  tree.className = "json";
  tree.open = true;
  tree.append(summary(sizeText(value)), list(Object.entries(value)));
  return tree;
}

function list(entries: Entry[]): HTMLElement {
  const box = document.createElement("ul");
  const { first, rest } = paged(entries);
  for (const [key, value] of first) {
    const name = span("key", `${key}: `);
    if (isBranch(value)) box.append(item(fold(Object.entries(value), name, sizeText(value))));
    else
      box.append(item(name, span(value === null ? "null" : typeof value, JSON.stringify(value))));
  }
  if (rest.length > 0) box.append(item(fold(rest, `${rest.length} more`)));
  return box;
}

function fold(entries: Entry[], ...label: (string | Node)[]): HTMLDetailsElement {
  const details = document.createElement("details");
  details.append(summary(...label));
  details.addEventListener("toggle", () => details.append(list(entries)), { once: true });
  return details;
}

function summary(...label: (string | Node)[]): HTMLElement {
  const made = document.createElement("summary");
  made.append(...label);
  return made;
}

function item(...content: (string | Node)[]): HTMLLIElement {
  const made = document.createElement("li");
  made.append(...content);
  return made;
}

function span(className: string, text: string): HTMLSpanElement {
  const made = document.createElement("span");
  made.className = className;
  made.textContent = text;
  return made;
}
