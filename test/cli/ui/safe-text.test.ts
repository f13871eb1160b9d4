/** Texts of models in a terminal: without control sequences that the terminal would obey. */
import { Writable } from "node:stream";
import { expect, test } from "vitest";
import { createOutput, safeText } from "../../../src/cli/ui/output.ts";

const CLIPBOARD = "\u001b]52;c;cm0gLXJmIH4=\u0007";

test.each([
  ["plain text, tabs and lines", "a\tb\nc é 😀", "a\tb\nc é 😀"],
  ["colours", "\u001b[1;31mred\u001b[0m", "\u001b[1;31mred\u001b[0m"],
  ["the clipboard", CLIPBOARD, "]52;c;cm0gLXJmIH4="],
  ["the title", "\u001b]0;root\u0007", "]0;root"],
  ["the cursor", "\u001b[2J\u001b[Hok\r\b", "[2J[Hok"],
  ["marks that change the direction of writing", "rm\u202e x\u2066y\u200fz\u061c", "rm xyz"],
  ["sequences of one byte", "\u009b2J\u009d0;x\u009c", "2J0;x"],
])("a text with %s is made safe", (_, text, shown) => {
  expect(safeText(text)).toBe(shown);
});

test("an output is safe in a terminal in whatever pieces it comes, and unchanged elsewhere", () => {
  for (const isTTY of [true, false]) {
    let written = "";
    const stream = new Writable({
      write(chunk, _encoding, done) {
        written += String(chunk);
        done();
      },
    });
    const output = createOutput(false, Object.assign(stream, { isTTY }));
    for (const piece of CLIPBOARD) output.write(piece);
    output.result("\u001b[2Jdone", {});
    expect(written).toBe(isTTY ? "]52;c;cm0gLXJmIH4=[2Jdone\n" : `${CLIPBOARD}\u001b[2Jdone\n`);
  }
});
