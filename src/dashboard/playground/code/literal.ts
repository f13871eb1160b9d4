/** JSON as JavaScript source: unquoted keys, and on one line where it fits. */
import { exactText, numberIn, unmarked } from "../../../lib/exact-json.ts";
import type { Json } from "../../../protocol/common.ts";

const WIDTH = 80;
/** Deeper nesting is not indented further: deep input would become megabytes of spaces. */
const MAX_INDENT = 20;
const NAME = /^[A-Za-z_$][\w$]*$/;

/** @param indent indentation of the first line */
export function literal(value: Json, indent = ""): string {
  if (typeof value !== "object" || value === null) return scalar(value);
  const [open, close, pad] = Array.isArray(value) ? ["[", "]", ""] : ["{", "}", " "];
  const inner = indent.length < MAX_INDENT ? `${indent}  ` : indent;
  const parts = Array.isArray(value)
    ? value.map((item) => literal(item, inner))
    : Object.entries(value).map(
        ([name, item]) => `${key(unmarked(name))}: ${literal(item, inner)}`,
      );
  if (parts.length === 0) return open + close;
  const line = open + pad + parts.join(", ") + pad + close;
  if (line.length + indent.length <= WIDTH && !line.includes("\n")) return line;
  return `${open}\n${parts.map((part) => `${inner}${part},\n`).join("")}${indent}${close}`;
}

/** A number that JavaScript would round is written as raw JSON. */
function scalar(value: Json): string {
  const number = typeof value === "string" ? numberIn(value) : undefined;
  const text = exactText(value);
  return Number.isInteger(number) && !Number.isSafeInteger(number)
    ? `JSON.rawJSON("${text}")`
    : text;
}

/** A value as a field of a form. */
export const plainText = (value: Json): string =>
  typeof value === "string" ? unmarked(value) : exactText(value);

function key(name: string): string {
  // A plain or quoted key `__proto__` would set the prototype.
  if (name === "__proto__") return '["__proto__"]';
  return NAME.test(name) ? name : JSON.stringify(name);
}
