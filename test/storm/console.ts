/** The log of the control plane, which Miniflare writes to this console with lines of its own. */
import { createWriteStream } from "node:fs";
import { format } from "node:util";

const METHODS = ["log", "info", "warn", "error"] as const;

/** @returns a function that restores the console */
export function divertConsole(file: string): () => void {
  const stream = createWriteStream(file);
  const before = METHODS.map((name) => [name, console[name]] as const);
  for (const name of METHODS)
    console[name] = (...words: unknown[]) =>
      void stream.write(`${new Date().toISOString()} ${format(...words)}\n`);
  return () => {
    for (const [name, method] of before) console[name] = method;
    stream.end();
  };
}
