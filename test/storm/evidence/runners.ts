/** What a runner that has ended well has left: processes of its models, and files. */
import { readdirSync } from "node:fs";
import { join, relative } from "node:path";
import type { Leftovers } from "../history.ts";
import type { StormRunner } from "../weather/storm-runner.ts";

/**
 * The cache keeps input files, each with a record of where it is from; all else in its folder is for
 * as long as a prediction runs.
 */
const KEPT = [/^models\//, /^owners\//, /^cache\/(files|sources)\//];

export async function leftoversOf(runner: StormRunner): Promise<Leftovers[]> {
  const { name } = runner;
  const endedWell = await runner.finish();
  const deaths = endedWell ? runner.deaths : [...runner.deaths, "did not end well when told to"];
  const files = filesIn(runner.folder);
  const left = files.filter((path) => !KEPT.some((pattern) => pattern.test(path)));
  const own = (what: Leftovers["what"], looked: number, found: unknown[]): Leftovers => ({
    what,
    looked,
    found: found.map((one) => `${name}: ${one}`),
  });
  return [
    own("runner that died by itself", 1, deaths),
    own("model process", 1, runner.processes()),
    own("file of a runner", files.length, left),
  ];
}

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)));
