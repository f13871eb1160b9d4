import { expect, test } from "vitest";
import { byteText } from "../../src/lib/text.ts";

test.each([
  [0, "0 bytes"],
  [999, "999 bytes"],
  [1_000, "1 kB"],
  [1_449, "1.4 kB"],
  [123_456, "123 kB"],
  [80 * 1024 * 1024, "83.9 MB"],
  [500e9, "500 GB"],
  [5e15, "5,000 TB"],
])("the size of %d bytes has its text", (bytes, text) => {
  expect(byteText(bytes)).toBe(text);
});
