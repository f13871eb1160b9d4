/** What a terminal makes of escapes: colors, and nothing of all others. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { logFile } from "../../../src/domain/predictions/log-file.ts";
import { Terminal } from "../../../src/domain/predictions/terminal.ts";

/** The text with its styles, as `[style|text]`. */
function readBy(...pieces: string[]): string {
  let read = "";
  let last: string | undefined;
  const screen = {
    text(text: string, style: string) {
      read += style === last || style === "" ? text : `[${style}|${text}]`;
      last = style === "" ? undefined : last;
    },
    return() {
      read += "<";
    },
    newLine() {
      read += "/";
    },
  };
  const terminal = new Terminal(screen);
  for (const piece of pieces) terminal.add(piece);
  return read;
}

const E = "\u001b";

test.each([
  ["a color", `${E}[31mred${E}[0m plain`, "[fg-1|red] plain"],
  ["a bright one", `${E}[92mgreen`, "[fg-10|green]"],
  ["on another", `${E}[30;43mb`, "[fg-0 bg-3|b]"],
  ["several at once", `${E}[1;2;3;4;34mb`, "[bold dim italic underline fg-4|b]"],
  ["an end of each", `${E}[1;4;31m${E}[22;24;39mplain`, "plain"],
  ["nothing, which resets", `${E}[31m${E}[mplain`, "plain"],
  ["inverse", `${E}[7mx`, "[inverse|x]"],
  ["inverse with a color", `${E}[7;31mx`, "[bg-1|x]"],
  ["256 colors: one of the 16", `${E}[38;5;9mx`, "[fg-9|x]"],
  ["256 colors: of the cube", `${E}[38;5;196mx`, "[fg-9|x]"],
  ["256 colors: a gray", `${E}[48;5;255mx`, "[bg-15|x]"],
  ["true color", `${E}[38;2;0;0;120mx`, "[fg-4|x]"],
  ["true color with colons", `${E}[38:2::255:80:255mx`, "[fg-13|x]"],
  ["what follows a color", `${E}[38;5;2;1mx`, "[bold fg-2|x]"],
  ["a wavy underline", `${E}[4:3mx${E}[4:0my`, "[underline|x]y"],
  ["a color that is cut off", `${E}[38;5mx`, "[fg-0|x]"],
  ["what moves the cursor", `a${E}[2K${E}[1Ab${E}[?25l`, "ab"],
  ["a title", `${E}]0;rm -rf\u0007a${E}]8;;http://x${E}\\b`, "ab"],
  ["a character set", `${E}(Ba${E}=b${E}7c`, "abc"],
  ["other controls", "a\u0000\u0008\u0007\u009b\u007fb\tc", "ab\tc"],
  ["a title that never ends", `${E}]0;title\nb`, "/b"],
  ["a sequence that never ends", `${E}[31\nb`, "/b"],
  ["an escape in an escape", `${E}[3${E}[31mb`, "[fg-1|b]"],
  ["a letter that ends none", `${E}[31éb`, "éb"],
  ["one with very many numbers", `${E}[${"1;".repeat(5_000)}31mb`, "b"],
  ["ends of lines", "a\r\nb\rc", "a</b<c"],
])("%s", (_, text, expected) => {
  expect(readBy(text)).toBe(expected);
  expect(readBy(...text)).toBe(readBy(...Array.from(text)));
});

test("it does not matter where the pieces end", () => {
  const part = fc.constantFrom(
    `${E}[`,
    E,
    "31",
    ";1",
    "m",
    "]0;",
    "text",
    "\n",
    "\r",
    "\u0007",
    "[",
  );
  const styled = (pieces: string[]) => {
    const all: string[] = [];
    const terminal = new Terminal({
      text: (text, style) => void all.push(...[...text].map((one) => style + one)),
      return: () => void all.push("<"),
      newLine: () => void all.push("/"),
    });
    for (const piece of pieces) terminal.add(piece);
    return all;
  };
  fc.assert(
    fc.property(fc.array(part, { maxLength: 40 }), (parts) => {
      expect(styled(parts)).toEqual(styled([parts.join("")]));
    }),
  );
});

test("megabytes of escapes are read as quickly as text is", () => {
  const hostile = `${E}[${"9".repeat(300)}${E}]${"x".repeat(300)}${E}[38;2;1;2`.repeat(10_000);
  const started = performance.now();
  readBy(hostile);
  expect(performance.now() - started).toBeLessThan(2_000);
});

test("as a file it has no escapes, and of a bar what was written last", () => {
  const pieces = ["a\r", `\nsteps ${E}[31m`, `0%\rsteps 50%`, `\rsteps 100%${E}[0m\n`, "end"];
  expect([...logFile(pieces)].join("")).toBe("a\nsteps 100%\nend");
  const long = "x".repeat(200_000);
  expect([...logFile([long, long, "\n"])].join("")).toBe(`${long}${long}\n`);
});
