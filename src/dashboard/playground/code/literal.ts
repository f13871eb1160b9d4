/** JSON as JavaScript or Python source, on one line where it fits. */
import { exactText, numberIn, unmarked } from "../../../lib/exact-json.ts";
import type { Json } from "../../../protocol/common.ts";

const WIDTH = 80;
/** Deeper nesting is not indented further: deep input would become megabytes of spaces. */
const MAX_INDENT = 20;
const NAME = /^[A-Za-z_$][\w$]*$/;

interface Syntax {
  indent: string;
  /** Space inside the braces of an object. */
  pad: string;
  key(name: string): string;
  scalar(value: Json): string;
}

/** JavaScript, with unquoted keys. */
const JAVASCRIPT: Syntax = {
  indent: "  ",
  pad: " ",
  key(name) {
    // A plain or quoted key `__proto__` would set the prototype.
    if (name === "__proto__") return '["__proto__"]';
    return NAME.test(name) ? name : JSON.stringify(name);
  },
  scalar(value) {
    const number = typeof value === "string" ? numberIn(value) : undefined;
    const text = exactText(value);
    // JavaScript would round the number.
    return Number.isInteger(number) && !Number.isSafeInteger(number)
      ? `JSON.rawJSON("${text}")`
      : text;
  },
};

const PYTHON: Syntax = {
  indent: "    ",
  pad: "",
  key: JSON.stringify,
  scalar(value) {
    if (value === null) return "None";
    if (typeof value === "boolean") return value ? "True" : "False";
    // Escapes of JSON mean the same in Python.
    return exactText(value);
  },
};

function source(value: Json, indent: string, syntax: Syntax): string {
  if (typeof value !== "object" || value === null) return syntax.scalar(value);
  const [open, close, pad] = Array.isArray(value) ? ["[", "]", ""] : ["{", "}", syntax.pad];
  const inner = indent.length < MAX_INDENT ? indent + syntax.indent : indent;
  const parts = Array.isArray(value)
    ? value.map((item) => source(item, inner, syntax))
    : Object.entries(value).map(
        ([name, item]) => `${syntax.key(unmarked(name))}: ${source(item, inner, syntax)}`,
      );
  if (parts.length === 0) return open + close;
  const line = open + pad + parts.join(", ") + pad + close;
  if (line.length + indent.length <= WIDTH && !line.includes("\n")) return line;
  return `${open}\n${parts.map((part) => `${inner}${part},\n`).join("")}${indent}${close}`;
}

/** @param indent indentation of the first line */
export const literal = (value: Json, indent = ""): string => source(value, indent, JAVASCRIPT);

/** @param indent indentation of the first line */
export const pythonLiteral = (value: Json, indent = ""): string => source(value, indent, PYTHON);

export const plainText = (value: Json): string =>
  typeof value === "string" ? unmarked(value) : exactText(value);

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
