/** The output of a prediction as text, from its JSON in any pieces. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { OutputText } from "../../../src/domain/predictions/output-text.ts";
import type { Json } from "../../../src/protocol/common.ts";

const pieces = (json: string, size: number) =>
  json.match(new RegExp(`[\\s\\S]{1,${size}}`, "g")) ?? [];

function textOf(output: Json, { between = "", size = 3 } = {}): string {
  const text = new OutputText(between);
  const told = pieces(JSON.stringify(output), size).map((piece) => text.add(piece));
  return told.join("") + text.end();
}

test("an output text stays the same in whatever pieces it comes", () => {
  const marks = ['"', "\\", "u", "\n", "é", "\ud83d", "\ude00", ",", "]", "["];
  const any = fc.array(fc.constantFrom(...marks), { maxLength: 8 }).map((all) => all.join(""));
  const strings = fc.array(any, { maxLength: 5 });
  fc.assert(
    fc.property(strings, fc.integer({ min: 1, max: 9 }), (all, size) => {
      expect(textOf(all, { size })).toBe(all.join(""));
      expect(textOf(all, { size, between: "\n" })).toBe(all.join("\n"));
      expect(textOf(all[0] ?? "", { size })).toBe(all[0] ?? "");
    }),
  );
});

test("an output that is not a string becomes the text of its message, or readable JSON", () => {
  const delta = (content: string) => ({ choices: [{ delta: { content } }] });
  expect(textOf([delta("Off with "), delta('"her" head')])).toBe('Off with "her" head');
  expect(textOf({ a: 1 })).toBe('{\n  "a": 1\n}\n');
  expect(textOf(null)).toBe("");
  expect(textOf([])).toBe("");
  expect(textOf(["a", 1, "b"])).toBe("a1\nb");
  expect(textOf(0.5)).toBe("0.5\n");
});
