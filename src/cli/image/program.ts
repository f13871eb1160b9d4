/** Runs other programs: container engines and Cog. */
import { spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { messageOf } from "../../../runner/src/lib/error.ts";
import { CommandEnded, Failure } from "../failure.ts";

/** The most characters of a program's output that an error quotes. */
const MAX_REASON = 2_000;

export interface ProgramOptions {
  signal: AbortSignal;
  cwd?: string;
  /** A detached program has a process group of its own, which a terminal's Ctrl+C does not reach. */
  detached?: boolean;
}

/** @returns the standard output. @throws Failure with the standard error */
export async function outputOf(command: string[], options: ProgramOptions): Promise<string> {
  const running = start(command, options);
  const [out] = await Promise.all([text(running.stdout), running.ended]);
  return out.trim();
}

/** Runs a program and shows its output. @throws CommandEnded */
export async function watched(
  command: string[],
  options: ProgramOptions,
  onText: (text: string) => void,
): Promise<void> {
  const { stdout, stderr, ended } = start(command, options);
  for (const stream of [stdout, stderr])
    stream.setEncoding("utf8").on("data", (chunk: string) => onText(chunk));
  await ended;
}

export interface Running {
  stdout: Readable;
  stderr: Readable;
  /** @throws Failure */
  ended: Promise<void>;
}

/** The signal ends the program. */
export function start([name = "", ...args]: string[], options: ProgramOptions): Running {
  const { signal } = options;
  const child = spawn(name, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => {
    said = `${said}${chunk}`.slice(-MAX_REASON);
  });
  const ended = new Promise<void>((resolve, reject) => {
    child.on("error", (error) => {
      reject(
        signal.aborted ? signal.reason : new Failure(`${name} cannot be run: ${messageOf(error)}`),
      );
    });
    child.on("close", (code) => {
      if (code === 0) resolve();
      else reject(new CommandEnded(`${name} ${args[0]} failed.\n${said.trim()}`.trim(), 1));
    });
  });
  // A caller may read the output before it awaits `ended`.
  ended.catch(() => {});
  return { stdout: child.stdout, stderr: child.stderr, ended };
}

/** Whether the program exists and answers. */
export async function answers(command: string[], signal: AbortSignal): Promise<boolean> {
  try {
    await outputOf(command, { signal });
    return true;
  } catch {
    signal.throwIfAborted();
    return false;
  }
}
