/** Colors and `\r` of a log line, and the log as a file. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MAX_CHARS, MAX_LOG_LINES } from "../../../src/domain/predictions/display-limits.ts";
import { levelOf } from "../../../src/domain/predictions/log-level.ts";
import { LogTail } from "../../../src/domain/predictions/log-tail.ts";
import { logFile, plainText, segmentsOf } from "../../../src/domain/predictions/log-text.ts";
import { processorMs } from "../../support/processor-time.ts";

/** Returns the text with its styles, as `[style|text]`. */
const readBy = (line: string) =>
  segmentsOf(line)
    .map(({ text, style }) => (style === "" ? text : `[${style}|${text}]`))
    .join("");

const E = "\u001b";

test.each([
  ["a color", `${E}[31mred${E}[0m plain`, "[fg-1|red] plain"],
  ["a bright color", `${E}[92mgreen`, "[fg-2|green]"],
  ["a background", `${E}[30;43mb`, "[bg-3|b]"],
  ["several styles at once", `${E}[1;2;3;4;34mb`, "[bold dim italic underline fg-4|b]"],
  ["the end of each style", `${E}[1;4;31m${E}[22;24;39mplain`, "plain"],
  ["a sequence without numbers as a reset", `${E}[31m${E}[mplain`, "plain"],
  ["inverse without a color", `${E}[7mx`, "[bg-8|x]"],
  ["inverse with a color", `${E}[7;31mx`, "[bg-1|x]"],
  ["a color of the palette of 16", `${E}[38;5;9mx`, "[fg-1|x]"],
  ["a color of the palette's cube", `${E}[38;5;196mx`, "[fg-1|x]"],
  ["a gray of the palette", `${E}[48;5;244mx`, "[bg-8|x]"],
  ["true color", `${E}[38;2;0;0;120mx`, "[fg-4|x]"],
  ["a style after a palette color", `${E}[38;5;2;1mx`, "[bold fg-2|x]"],
  ["a color with colons as plain text", `${E}[38:2::255:80:255mx`, "x"],
  ["cursor movements as nothing", `a${E}[2K${E}[1Ab${E}[?25l`, "ab"],
  ["a title and a link as nothing", `${E}]0;rm -rf\u0007a${E}]8;;http://x${E}\\b`, "ab"],
  ["a character set as nothing", `${E}(Ba${E}=b${E}7c`, "abc"],
  ["other control characters as nothing", "a\u0000\u0008\u0007\u009b\u007fb\tc", "ab\tc"],
  ["an open title as nothing", `a${E}]0;title`, "a"],
  ["an open sequence as nothing", `a${E}[31`, "a"],
  ["a sequence in a sequence", `${E}[3${E}[31mb`, "[fg-1|b]"],
  ["markup as text", `${E}[31m<b onclick=x>`, "[fg-1|<b onclick=x>]"],
  ["text after \\r instead of text before it", `10%\r${E}[K20%`, "20%"],
  ["text before a \\r at the end", `10%\r${E}[K`, "10%"],
  ["a color from before \\r", `${E}[32m10%\r20%`, "[fg-2|20%]"],
])("a log line shows %s", (_, line, expected) => {
  expect(readBy(line)).toBe(expected);
});

test("a line with thousands of styles is shown without them", () => {
  const hostile = `${E}[1mx${E}[${"9".repeat(300)}${E}]${"x".repeat(30)}`.repeat(10_000);
  const started = processorMs();
  expect(segmentsOf(hostile)).toHaveLength(1);
  expect(processorMs() - started).toBeLessThan(2_000);
});

test("the log file has no escape sequences, and only the last text of a line that was written over", () => {
  const pieces = ["a\r", `\nsteps ${E}[31m`, "0%\rsteps 50%", `\rsteps 100%${E}[0m\n`, "end"];
  expect([...logFile(pieces)].join("")).toBe("a\nsteps 100%\nend");
  expect([...logFile([...pieces.join("")])].join("")).toBe("a\nsteps 100%\nend");
  const long = "x".repeat(200_000);
  expect([...logFile([long, `${long}${E}[3`, "1my\n"])].join("")).toBe(`${long}${long}y\n`);
});

test.each([
  ["INFO:     Started server process [1]", "info"],
  ["2026-11-27 05:00:00,123 - vllm - WARNING - slow", "warning"],
  ["[error] no such file", "error"],
  ["WARN  tokenizer: unknown", "warning"],
  ['{"level": "warn", "msg": "late"}', "warning"],
  ['{"severity":"INFO","logger":"cog.server"}', "info"],
  ["time=1 level=debug msg=x", "debug"],
  ["E1127 05:00:00.000000 12 cuda.cc:3] no device", "error"],
  ["Traceback (most recent call last):", "error"],
  ["torch.cuda.OutOfMemoryError: CUDA out of memory", "error"],
  ["/usr/lib/x.py:3: FutureWarning: soon", "warning"],
  ["thread 'main' panicked at src/main.rs:1", "error"],
  ["CRITICAL: gone", "error"],
  ["loaded 3 errors.txt", undefined],
  ["DEBUG_INFO=1 path/ERROR", undefined],
  ["Loading weights", undefined],
  ["", undefined],
])("the level of %s is %s", (line, level) => {
  expect(levelOf(line)).toBe(level);
});

test("an indented line has the level of the line before it", () => {
  expect(levelOf('  File "predict.py", line 3', "error")).toBe("error");
  expect(levelOf("\tat INFO", "error")).toBe("error");
  expect(levelOf("done", "error")).toBeUndefined();
});

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
