import fc from "fast-check";
import { expect, test } from "vitest";
import { type Cursor, decodeCursor, encodeCursor } from "../../src/domain/cursor.ts";
import { ValidationFailure } from "../../src/domain/validation.ts";

const cursor: Cursor = {
  list: "predictions?failed",
  go: "next",
  id: "019a0000-0000-7000-8000-000000000001",
};

test("what is encoded is decoded, also when a client does not escape it", () => {
  const text = encodeCursor(cursor);
  expect(decodeCursor(text, cursor.list)).toEqual(cursor);
  const pasted = new URL(`https://auspex.test/?cursor=${text}`).searchParams.get("cursor");
  expect(decodeCursor(pasted ?? "", cursor.list)).toEqual(cursor);
  const escaped = new URL("https://auspex.test/");
  escaped.searchParams.set("cursor", text);
  expect(decodeCursor(new URL(escaped.href).searchParams.get("cursor") ?? "", cursor.list)).toEqual(
    cursor,
  );
});

test("one of another list or other filters is refused", () => {
  expect(() => decodeCursor(encodeCursor(cursor), "predictions?")).toThrow(ValidationFailure);
});

test.each([
  "",
  "%",
  "%E0%A4%A",
  "garbage!",
  btoa("{}"),
  btoa("null"),
  btoa("[1]"),
  btoa('{"list":"predictions?failed","go":"up","id":"x"}'),
])("%j is refused", (text) => {
  expect(() => decodeCursor(text, cursor.list)).toThrow(ValidationFailure);
});

test("whatever text it is, it is decoded or refused, nothing else", () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string(), fc.base64String(), fc.json().map(encodeURIComponent)),
      (text) => {
        expect(() => decodeCursor(text, cursor.list)).toThrow(ValidationFailure);
      },
    ),
  );
});
