/** The whole log as a text file: without escapes, and of a line that is written over what was written last. */
import { Terminal } from "./terminal.ts";

/** A line that is longer is not held until its end. */
const MAX_HELD_CHARS = 64 * 1024;

/** @param pieces what was logged, in any pieces */
export function* logFile(pieces: Iterable<string>): Generator<string> {
  let whole = "";
  let line = "";
  let returned = false;
  const terminal = new Terminal({
    text(text) {
      if (returned) line = "";
      returned = false;
      line += text;
      if (line.length <= MAX_HELD_CHARS) return;
      whole += line;
      line = "";
    },
    return() {
      returned = true;
    },
    newLine() {
      returned = false;
      whole += `${line}\n`;
      line = "";
    },
  });
  for (const piece of pieces) {
    terminal.add(piece);
    if (whole !== "") yield whole;
    whole = "";
  }
  if (line !== "") yield line;
}
