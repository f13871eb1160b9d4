/** A command of package.json, run as in a terminal. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { ROOT } from "../../../../src/dev/bundle.ts";

/**
 * Runs a script to its end.
 * @param file from the project's root
 * @param environment all of its environment, but the PATH and the compiled modules
 * @returns its exit code, and its output: first all of stdout, then all of stderr
 */
export async function runScript(
  file: string,
  args: string[],
  environment: Record<string, string>,
): Promise<{ code: number; output: string }> {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, [file, ...args], {
    cwd: ROOT,
    env: { PATH, NODE_COMPILE_CACHE, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, error, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
  ]);
  return { code, output: out + error };
}
