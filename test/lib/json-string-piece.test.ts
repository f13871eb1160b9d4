/** A text that is read from a file piece by piece is the same text. */
import { expect, test } from "vitest";
import { stringPiece } from "../../src/lib/json-string-piece.ts";

const TEXTS = [
  "plain",
  'a "quote" and a \\ \\\\ slash',
  "é ☃ 😀😀",
  "\ufeff\ufeffmarks \ufeff in the text\ufeff",
  "\n\t\u0001",
  "",
];
/** Others write every character as an escape. */
const escaped = (text: string) =>
  `"${[...text].map((one) => one.split("").map(unit).join("")).join("")}"`;
const unit = (one: string) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`;

test.each(TEXTS.flatMap((text) => [JSON.stringify(text), escaped(text)]))("%s", (json) => {
  const bytes = new TextEncoder().encode(json);
  for (let length = 12; length < bytes.length + 12; length++) {
    let text = "";
    for (let at = 1; at < bytes.length; ) {
      const piece = stringPiece(bytes.subarray(at, at + length), at + length >= bytes.length);
      expect(piece.size).toBeGreaterThan(0);
      expect(piece.text.isWellFormed()).toBe(true);
      text += piece.text;
      at += piece.size;
    }
    expect(text).toBe(JSON.parse(json));
  }
});
