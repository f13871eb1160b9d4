/** Names of runners and their parts, which cannot reverse the rest of a page. */
import { expect, test } from "vitest";
import { shownText } from "../../src/protocol/common.ts";

test.each([
  ["rack-1", "rack-1"],
  ["\u202e1-kcar\nline\u0000", "1-kcarline"],
  ["\u2066a\u2069\u200fb", "ab"],
  ["رف ١", "رف ١"],
])("%j is shown as %j", (sent, shown) => {
  expect(shownText(100).parse(sent)).toBe(shown);
});

test("a name of invisible characters only is refused", () => {
  expect(shownText(100).min(1).safeParse("\u202e").success).toBe(false);
  expect(shownText(5).safeParse("123456").success).toBe(false);
});
