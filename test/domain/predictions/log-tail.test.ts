/** The end of a log, as much of it as a page can hold. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MAX_CHARS, MAX_LOG_LINES } from "../../../src/domain/predictions/display-limits.ts";
import { LogTail } from "../../../src/domain/predictions/log-tail.ts";

const tailOf = (...pieces: string[]) => {
  const tail = new LogTail();
  for (const piece of pieces) tail.add(piece);
  tail.cut();
  return { text: tail.text, hidden: tail.hidden, torn: tail.torn };
};

const lines = (count: number, from = 0) =>
  Array.from({ length: count }, (_, n) => `line ${from + n}\n`).join("");

test("a short log is there in full", () => {
  expect(tailOf("a\n", "b", "c\n")).toEqual({ text: "a\nbc\n", hidden: 0, torn: false });
  expect(tailOf("", "\n", "no end")).toEqual({ text: "\nno end", hidden: 0, torn: false });
  expect(tailOf()).toEqual({ text: "", hidden: 0, torn: false });
});

test("of a long one the last lines are, and it is known how many are not", () => {
  const { text, hidden, torn } = tailOf(lines(MAX_LOG_LINES + 7));
  expect(text).toBe(lines(MAX_LOG_LINES, 7));
  expect([hidden, torn]).toEqual([7, false]);
  const whole = { text: lines(MAX_LOG_LINES), hidden: 0, torn: false };
  expect(tailOf(lines(MAX_LOG_LINES))).toEqual(whole);
});

test("a line that does not end is cut, and it is known that it was", () => {
  const { text, hidden, torn } = tailOf("a\n", "x".repeat(MAX_CHARS + 5));
  expect(text).toBe("x".repeat(MAX_CHARS));
  expect([hidden, torn]).toEqual([1, true]);
  expect(tailOf("x".repeat(MAX_CHARS + 1))).toMatchObject({ hidden: 0, torn: true });
  expect(tailOf("x".repeat(MAX_CHARS + 1), "\n", lines(MAX_LOG_LINES))).toMatchObject({
    hidden: 1,
    torn: false,
  });
});

test("however it comes, lines that are shown and lines that are not are all there are", () => {
  const piece = fc.oneof(
    fc.constant(lines(900)),
    fc.constant(`${"y".repeat(200_000)}\n`),
    fc.constant("no end "),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const { text, hidden, torn } = tailOf(...pieces);
      const whole = pieces.join("");
      expect(whole.endsWith(text)).toBe(true);
      const before = whole.slice(0, whole.length - text.length);
      expect(torn).toBe(before !== "" && !before.endsWith("\n"));
      expect(text.length).toBeLessThanOrEqual(MAX_CHARS);
      const count = (of: string) => of.split("\n").length - 1;
      expect(hidden + count(text)).toBe(count(whole));
    }),
    { numRuns: 30 },
  );
});

test("what only a terminal understands is left out", () => {
  expect(tailOf("\u001b[1;32mgreen\u001b[0m\r\n").text).toBe("green\n");
});

describe("a line that is written over", () => {
  const BAR = "steps:\n\r  0%\r 50%\r100%\r\ndone\n";

  test("has what was written last, however it comes", () => {
    expect(tailOf(BAR).text).toBe("steps:\n100%\ndone\n");
    for (let at = 0; at <= BAR.length; at++)
      expect(tailOf(BAR.slice(0, at), BAR.slice(at)).text).toBe("steps:\n100%\ndone\n");
    expect(tailOf(...BAR).text).toBe("steps:\n100%\ndone\n");
  });

  test("stays until then", () => {
    expect(tailOf("a\n", " 10%\r").text).toBe("a\n 10%");
    expect(tailOf("a\n", " 10%\r", "\u001b[K").text).toBe("a\n 10%");
    expect(tailOf("a\n", " 10%\r", "b").text).toBe("a\nb");
  });

  test("is not torn any more", () => {
    const torn = "x".repeat(2 * MAX_CHARS + 1);
    expect(tailOf(torn).torn).toBe(true);
    expect(tailOf(torn, "\rb")).toEqual({ text: "b", hidden: 0, torn: false });
  });

  test("costs no more than others", () => {
    const tail = new LogTail();
    for (let n = 0; n < 50_000; n++) tail.add(`\rstep ${n} ${"#".repeat(40)}`);
    expect(tail.text).toBe(`step 49999 ${"#".repeat(40)}`);
  });
});
