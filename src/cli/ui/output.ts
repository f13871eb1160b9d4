/** The result of a command, on standard output: text for people, or JSON with --json. */

import { styleText } from "node:util";
import { exactText } from "../../lib/exact-json.ts";
import type { Json } from "../../lib/json.ts";
import { safeText } from "./safe-text.ts";

export interface Output {
  readonly json: boolean;
  /** Prints the one that was asked for. */
  result(text: string, value: object | Json): void;
  /** Without a line's end, as it comes. */
  write(text: string): void;
}

export function createOutput(
  json: boolean,
  stream: NodeJS.WritableStream & { isTTY?: boolean },
): Output {
  // Into a file or another program it goes as it is.
  const write = (text: string) => void stream.write(stream.isTTY ? safeText(text) : text);
  return {
    json,
    write,
    result: (text, value) => write(`${json ? exactText(value, 2) : text}\n`),
  };
}

/** Columns as wide as their widest cell. */
export function table(head: string[], rows: string[][]): string {
  const widths = head.map((cell, column) =>
    Math.max(cell.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const lineOf = (cells: string[]) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd();
  const heading = styleText("bold", lineOf(head));
  return [heading, ...rows.map(lineOf)].join("\n");
}

export const isText = (value: Json): value is string => typeof value === "string";
