/** Where the control plane's log goes: Miniflare writes it, and what it says itself, to this console. */
import { createWriteStream } from "node:fs";
import { format } from "node:util";

const METHODS = ["log", "info", "warn", "error"] as const;

/** @returns what makes the console the console again */
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
