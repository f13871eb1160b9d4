/** JSON as JavaScript source: unquoted keys, and on one line where it fits. */
import type { Json } from "../../../protocol/common.ts";

const WIDTH = 80;
/** Deeper nesting is not indented further: deep input would become megabytes of spaces. */
const MAX_INDENT = 20;
const NAME = /^[A-Za-z_$][\w$]*$/;

/** @param indent indentation of the first line */
export function literal(value: Json, indent = ""): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const [open, close, pad] = Array.isArray(value) ? ["[", "]", ""] : ["{", "}", " "];
  const inner = indent.length < MAX_INDENT ? `${indent}  ` : indent;
  const parts = Array.isArray(value)
    ? value.map((item) => literal(item, inner))
    : Object.entries(value).map(([name, item]) => `${key(name)}: ${literal(item, inner)}`);
  if (parts.length === 0) return open + close;
  const line = open + pad + parts.join(", ") + pad + close;
  if (line.length + indent.length <= WIDTH && !line.includes("\n")) return line;
  return `${open}\n${parts.map((part) => `${inner}${part},\n`).join("")}${indent}${close}`;
}

function key(name: string): string {
  // As a plain or quoted key it would set the prototype.
  if (name === "__proto__") return '["__proto__"]';
  return NAME.test(name) ? name : JSON.stringify(name);
}
