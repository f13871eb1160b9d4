/** Parses JSON that a user types: its value, or the line and column of the error. */
import { parseExact } from "../../lib/exact-json.ts";
import type { Json } from "../../protocol/common.ts";

export function readJson(text: string): { value: Json } | { fault: string } {
  try {
    return { value: parseExact(text) };
  } catch {
    return { fault: faultIn(text) };
  }
}

/** Returns the text of the error. JavaScript engines word it differently, and not all give its position. */
function faultIn(text: string): string {
  const at = firstFault(text);
  const before = text.slice(0, at).split("\n");
  const where = `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
  const [found] = text.slice(at).matchAll(/^\S{1,12}/g);
  return found
    ? `Not valid JSON: '${found[0]}' is unexpected at ${where}`
    : `Not valid JSON: unexpected end at ${where}`;
}

/** The token expected next. */
type Expected = "value" | "item or end" | "name" | "name or end" | "colon" | "comma or end";

const SCALAR =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a text in JSON has none.
  /"[^"\\\0-\x1f]*(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4})[^"\\\0-\x1f]*)*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.+-])|(?:true|false|null)(?!\w)/y;

const SPACE = /[ \t\n\r]*/y;

/** Finds the first error without recursion, for any depth of nesting. @returns its offset */
function firstFault(text: string): number {
  const open: ("]" | "}")[] = [];
  let expected: Expected = "value";
  let at = 0;
  const skip = (pattern: RegExp) => {
    pattern.lastIndex = at;
    const [found = ""] = pattern.exec(text) ?? [];
    at += found.length;
    return found;
  };
  for (;;) {
    skip(SPACE);
    const next = text[at];
    const ends = expected.endsWith("or end") && next !== undefined && next === open.at(-1);
    if (ends) {
      open.pop();
      expected = "comma or end";
      at++;
    } else if (expected === "comma or end") {
      const inside = open.at(-1);
      if (next !== "," || !inside) return at;
      expected = inside === "]" ? "value" : "name";
      at++;
    } else if (expected === "colon") {
      if (next !== ":") return at;
      expected = "value";
      at++;
    } else if (expected === "name" || expected === "name or end") {
      if (next !== '"' || !skip(SCALAR)) return at;
      expected = "colon";
    } else if (next === "[" || next === "{") {
      open.push(next === "[" ? "]" : "}");
      expected = next === "[" ? "item or end" : "name or end";
      at++;
    } else {
      if (!skip(SCALAR)) return at;
      expected = "comma or end";
    }
  }
}
