/** JSON as Python source, on one line where it fits. */
import { exactText, unmarked } from "../../../lib/exact-json.ts";
import type { Json } from "../../../protocol/common.ts";

const WIDTH = 80;
/** Deeper nesting is not indented further. */
const MAX_INDENT = 20;

/** @param indent indentation of the first line */
export function pythonLiteral(value: Json, indent = ""): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  // Escapes of JSON mean the same in Python.
  if (typeof value !== "object") return exactText(value);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  const inner = indent.length < MAX_INDENT ? `${indent}    ` : indent;
  const parts = Array.isArray(value)
    ? value.map((item) => pythonLiteral(item, inner))
    : Object.entries(value).map(
        ([name, item]) => `${JSON.stringify(unmarked(name))}: ${pythonLiteral(item, inner)}`,
      );
  const line = open + parts.join(", ") + close;
  if (parts.length === 0 || (line.length + indent.length <= WIDTH && !line.includes("\n")))
    return line;
  return `${open}\n${parts.map((part) => `${inner}${part},\n`).join("")}${indent}${close}`;
}

/**
 * Arguments of a function, by name. What the client does not know as an argument goes into the body
 * by `extra_body`.
 */
export function pythonArguments(body: { [name: string]: Json }, known: readonly string[]): string {
  const all = Object.entries(body);
  const named = all.filter(([name]) => known.includes(name));
  const extra = all.filter(([name]) => !known.includes(name));
  const lines = named.map(([name, value]) => `${unmarked(name)}=${pythonLiteral(value, "    ")}`);
  if (extra.length > 0)
    lines.push(`extra_body=${pythonLiteral(Object.fromEntries(extra), "    ")}`);
  return lines.map((line) => `    ${line},\n`).join("");
}
