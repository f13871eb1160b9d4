/** Colors and `\r` of a log line, and the log as a file. */
import { expect, test } from "vitest";
import { logFile, segmentsOf } from "../../../src/domain/predictions/log-text.ts";

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
  const started = performance.now();
  expect(segmentsOf(hostile)).toHaveLength(1);
  expect(performance.now() - started).toBeLessThan(2_000);
});

test("the log file has no escape sequences, and only the last text of a line that was written over", () => {
  const pieces = ["a\r", `\nsteps ${E}[31m`, "0%\rsteps 50%", `\rsteps 100%${E}[0m\n`, "end"];
  expect([...logFile(pieces)].join("")).toBe("a\nsteps 100%\nend");
  expect([...logFile([...pieces.join("")])].join("")).toBe("a\nsteps 100%\nend");
  const long = "x".repeat(200_000);
  expect([...logFile([long, `${long}${E}[3`, "1my\n"])].join("")).toBe(`${long}${long}y\n`);
});
