/** The end of a log: as many lines as a page can hold. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MAX_CHARS, MAX_LOG_LINES } from "../../../src/domain/predictions/display-limits.ts";
import { LogTail } from "../../../src/domain/predictions/log-tail.ts";
import { plainText, segmentsOf } from "../../../src/domain/predictions/log-text.ts";

const tailOf = (...pieces: string[]) => {
  const tail = new LogTail();
  for (const piece of pieces) tail.add(piece);
  tail.cut();
  const { hidden, torn } = tail.state;
  return { text: tail.lines.map(({ text }) => plainText(text)).join("\n"), hidden, torn };
};

const lines = (count: number, from = 0) =>
  Array.from({ length: count }, (_, n) => `line ${from + n}\n`).join("");

test("the tail of a short log has the full log", () => {
  expect(tailOf("a\n", "b", "c\n")).toEqual({ text: "a\nbc\n", hidden: 0, torn: false });
  expect(tailOf("", "\n", "no end")).toEqual({ text: "\nno end", hidden: 0, torn: false });
  expect(tailOf()).toEqual({ text: "", hidden: 0, torn: false });
});

test("the tail of a long log has its last lines and the number of the hidden ones", () => {
  const { text, hidden, torn } = tailOf(lines(MAX_LOG_LINES + 7));
  expect(text).toBe(lines(MAX_LOG_LINES, 7));
  expect([hidden, torn]).toEqual([7, false]);
  const whole = { text: lines(MAX_LOG_LINES), hidden: 0, torn: false };
  expect(tailOf(lines(MAX_LOG_LINES))).toEqual(whole);
});

test("a line that does not end is cut, and marked as torn", () => {
  const { text, hidden, torn } = tailOf("a\n", "x".repeat(MAX_CHARS + 5));
  expect(text).toBe("x".repeat(MAX_CHARS));
  expect([hidden, torn]).toEqual([1, true]);
  expect(tailOf("x".repeat(MAX_CHARS + 1))).toMatchObject({ hidden: 0, torn: true });
  expect(tailOf("x".repeat(MAX_CHARS + 1), "\n", lines(MAX_LOG_LINES))).toMatchObject({
    hidden: 1,
    torn: false,
  });
});

test("shown and hidden lines add up to all lines, in whatever pieces the log comes", () => {
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

test("a line has the time at which its text came, and a line that is written over has the later time", () => {
  const tail = new LogTail();
  tail.add("a\n", 1);
  tail.add("b", 2);
  tail.add("b\n10%", 3);
  tail.add("\r20%", 4);
  expect(tail.lines.map(({ at }) => at)).toEqual([1, 2, 4]);
});

test("a tail continues another one in the middle of a color and of an escape sequence", () => {
  const whole = "\u001b[31mred\nstill\u001b[0;3";
  const first = new LogTail();
  first.add(whole);
  const copy = new LogTail(first.state, structuredClone([...first.lines]));
  copy.add("2m green\r\n");
  expect(copy.lines.map(({ text }) => segmentsOf(text))).toEqual([
    [{ text: "red", style: "fg-1" }],
    [
      { text: "still", style: "fg-1" },
      { text: " green", style: "fg-2" },
    ],
    [],
  ]);
});

test("escape sequences without text leave one empty line", () => {
  const tail = new LogTail();
  const escapes = "\u001b[31m\u001b[1m\u001b[38;5;200m\u001b]0;title\u0007\n".repeat(2_000);
  for (let n = 0; n < 10; n++) tail.add(escapes);
  tail.cut();
  expect(tail.lines.reduce((sum, { text }) => sum + text.length, 0)).toBeLessThan(100_000);
});

describe("a line that is written over", () => {
  const BAR = "steps:\n\r  0%\r 50%\r100%\r\ndone\n";

  test("a line that is written over has its last text, in whatever pieces it comes", () => {
    expect(tailOf(BAR).text).toBe("steps:\n100%\ndone\n");
    for (let at = 0; at <= BAR.length; at++)
      expect(tailOf(BAR.slice(0, at), BAR.slice(at)).text).toBe("steps:\n100%\ndone\n");
    expect(tailOf(...BAR).text).toBe("steps:\n100%\ndone\n");
  });

  test("a line that ends with \\r stays until it is written over", () => {
    expect(tailOf("a\n", " 10%\r").text).toBe("a\n 10%");
    expect(tailOf("a\n", " 10%\r", "\u001b[K").text).toBe("a\n 10%");
    expect(tailOf("a\n", " 10%\r", "b").text).toBe("a\nb");
  });

  test("a line that is written over is no longer torn", () => {
    const torn = "x".repeat(2 * MAX_CHARS + 1);
    expect(tailOf(torn).torn).toBe(true);
    expect(tailOf(torn, "\rb")).toEqual({ text: "b", hidden: 0, torn: false });
  });

  test("a line that is written over costs as much as others", () => {
    const tail = new LogTail();
    for (let n = 0; n < 50_000; n++) tail.add(`\rstep ${n} ${"#".repeat(40)}`);
    tail.cut();
    expect(tail.lines.map(({ text }) => text)).toEqual([`step 49999 ${"#".repeat(40)}`]);
  });
});
