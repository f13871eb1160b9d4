/** A JSON value as a tree; nodes are created when first expanded. */
import { exactText, parseExact, unmarked } from "../../../lib/exact-json.ts";
import type { Json } from "../../../protocol/common.ts";
import {
  type Branch,
  type Entry,
  isBranch,
  leafType,
  paginated,
  sizeText,
} from "../../prediction-view/branch.ts";
import { isUrlKind, outputOf } from "../../prediction-view/output-kind.ts";
import { element } from "./element.ts";
import { urlOutput } from "./url-output.ts";

/** Turns collapsed JSON text from the server into nodes, when first expanded. */
export function attachTrees(root: ParentNode): void {
  for (const text of root.querySelectorAll<HTMLElement>(".json pre")) {
    text.parentElement?.addEventListener(
      "toggle",
      () => {
        const value = parseExact(text.textContent);
        if (isBranch(value)) text.replaceWith(list(entriesOf(value, Number(text.dataset.from))));
      },
      { once: true },
    );
  }
}

/** @param from index of the first item, when it continues a list */
const entriesOf = (value: Branch, from: number): Entry[] =>
  Array.isArray(value)
    ? value.map((one, n): Entry => [String(from + n), one])
    : Object.entries(value);

/** The tree with its first level expanded: the same markup as in prediction-view/json-tree.tsx. */
export function jsonTree(value: Json): HTMLElement {
  if (!isBranch(value)) return element("code", "", exactText(value));
  const content = [element("summary", "", sizeText(value)), list(Object.entries(value))];
  const tree = element("details", "json", ...content);
  tree.open = true;
  return tree;
}

function list(entries: Entry[]): HTMLElement {
  const box = element("ul", "");
  const { first, rest } = paginated(entries);
  for (const [key, value] of first) {
    const name = element("span", "key", `${unmarked(key)}: `);
    if (isBranch(value))
      box.append(element("li", "", collapsed(Object.entries(value), name, sizeText(value))));
    else box.append(element("li", "", name, leaf(value)));
  }
  if (rest.length > 0) box.append(element("li", "", collapsed(rest, `${rest.length} more`)));
  return box;
}

/** A string may be the URL of a file. */
function leaf(value: Json): HTMLElement {
  const output = outputOf(value, location.host);
  if (isUrlKind(output)) return urlOutput(output);
  return element("span", leafType(value), exactText(value));
}

function collapsed(entries: Entry[], ...label: (string | Node)[]): HTMLDetailsElement {
  const details = element("details", "", element("summary", "", ...label));
  details.addEventListener("toggle", () => details.append(list(entries)), { once: true });
  return details;
}
