/** The result of a command, on standard output: text for people, or JSON with --json. */
import { styleText } from "node:util";
import { confirm } from "@clack/prompts";
import { exactText } from "../../lib/exact-json.ts";
import type { Json } from "../../lib/json.ts";
import { Failure, Interrupted, Misuse } from "../failure.ts";

export interface Output {
  readonly json: boolean;
  /** Prints the text, or the JSON with `--json`. */
  result(text: string, value: object | Json): void;
  /** Prints a text as it comes, without a line break. */
  write(text: string): void;
}

export function createOutput(
  json: boolean,
  stream: NodeJS.WritableStream & { isTTY?: boolean },
): Output {
  // Output into a file or another program is not changed.
  const write = (text: string) => void stream.write(stream.isTTY ? safeText(text) : text);
  return {
    json,
    write,
    result: (text, value) => write(`${json ? exactText(value, 2) : text}\n`),
  };
}

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

/** Returns a time in the time zone of this machine: `2026-11-22 06:27`. */
export const localTime = (timestamp: string): string =>
  new Date(timestamp).toLocaleString("sv-SE", { dateStyle: "short", timeStyle: "short" });

const CONTROLS =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what it keeps out.
  /\x1b\[[\d;]{0,32}m|[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/**
 * Colours, tabs and line ends stay. What else a terminal obeys goes: it could rename the window, fill the clipboard,
 * or draw over what was there. Marks of the direction of writing go, too: they show a text in another order than the
 * one in which it is pasted. A sequence that comes in pieces loses its beginning.
 */
export const safeText = (text: string): string =>
  text.replace(CONTROLS, (found) => (found.length > 1 ? found : ""));

/** Quotes a text as one word of a POSIX shell. */
export const quoted = (text: string): string =>
  /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** Quotes a path, which may look like an option. */
export const quotedPath = (path: string): string =>
  quoted(path.startsWith("-") ? `./${path}` : path);

export interface ConfirmOptions {
  yes?: boolean;
  json?: boolean;
}

/**
 * @param question read only if somebody can be asked
 * @throws Misuse in a script that does not say --yes; Failure if the answer is no
 */
export async function confirmed(
  { yes = false, json = false }: ConfirmOptions,
  question: () => Promise<string> | string,
): Promise<void> {
  if (yes) return;
  if (json || !isInteractive())
    throw new Misuse("Refusing to delete without confirmation. Pass --yes.");
  const message = safeText(await question());
  if (!answered(await confirm({ ...prompt, message, initialValue: false })))
    throw new Failure("Canceled. Nothing was deleted.");
}

/** Questions are on standard error: the output has the result only. */
export const prompt = { output: process.stderr };

/** @throws Interrupted if the user canceled the question */
export function answered<Answer>(answer: Answer): Exclude<Answer, symbol> {
  if (isAnswer(answer)) return answer;
  throw new Interrupted("SIGINT");
}

const isAnswer = <Answer>(answer: Answer): answer is Exclude<Answer, symbol> =>
  typeof answer !== "symbol";

/** Whether a person sits at a terminal and can be asked. */
export const isInteractive = (): boolean => process.stdin.isTTY && process.stderr.isTTY;
