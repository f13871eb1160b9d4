/** What is whole at the beginning of a JSON text, wherever that ends. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { closedJson } from "../../src/lib/closed-json.ts";

test.each([
  ["[[1,2],[3,4],[5", "[[1,2],[3,4]]"],
  ['{"data":[{"a":[1]},{"a":[2', '{"data":[{"a":[1]}]}'],
  ['[{"]":"\\"}]"},{"b', '[{"]":"\\"}]"}]'],
  ["[[1,2", undefined],
  ['{"a":[1],"b":2', undefined],
  ["[1,2,3", undefined],
  ["", undefined],
])("%s", (text, closed) => {
  expect(closedJson(text)).toBe(closed);
});

test("whatever it begins, what is closed is JSON", () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), fc.nat(), (json, length) => {
      const closed = closedJson(json.slice(0, length % (json.length + 1)));
      if (closed !== undefined) JSON.parse(closed);
    }),
  );
});
