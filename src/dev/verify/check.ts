/** One check of a deployment, and the table of all. */
import type { Visit } from "./visit.ts";

export interface Check {
  name: string;
  /** @returns what was seen @throws NotAsked, or any Error with what is wrong */
  run(visit: Visit): Promise<string>;
}

/** The check was not asked for. */
export class NotAsked extends Error {}

type Result = "ok" | "failed" | "left out";

/** Runs one after the other, also after a failure, with a row for each. @returns whether none failed */
export async function runChecks(
  checks: readonly Check[],
  visit: Visit,
  say: (row: string) => void,
): Promise<boolean> {
  const width = Math.max(...checks.map(({ name }) => name.length));
  let allWell = true;
  for (const { name, run } of checks) {
    const began = performance.now();
    const [result, seen] = await run(visit).then(
      (text): [Result, string] => ["ok", text],
      (error: unknown): [Result, string] => [
        error instanceof NotAsked ? "left out" : "failed",
        error instanceof Error ? error.message : String(error),
      ],
    );
    allWell &&= result !== "failed";
    const seconds = `${((performance.now() - began) / 1000).toFixed(1)} s`;
    say(`${name.padEnd(width)}  ${result.padEnd(8)}  ${seconds.padStart(8)}  ${seen}`);
  }
  return allWell;
}
