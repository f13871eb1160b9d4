/** What a runner that has ended well has left: processes of its models, and files. */
import { readdirSync } from "node:fs";
import { join, relative } from "node:path";
import type { Leftover } from "../history.ts";
import type { StormRunner } from "../weather/storm-runner.ts";

/**
 * The cache keeps input files, each with a record of where it is from; all else in its folder is for
 * as long as a prediction runs.
 */
const KEPT = [/^models\//, /^owners\//, /^cache\/(files|sources)\//];

export async function leftoversOf(runner: StormRunner): Promise<Leftover[]> {
  const { name } = runner;
  const endedWell = await runner.finish();
  const deaths = endedWell ? runner.deaths : [...runner.deaths, "did not end well when told to"];
  return [
    ...deaths.map(
      (why): Leftover => ({
        what: "runner that died by itself",
        where: `${name}: ${why}`,
      }),
    ),
    ...runner.processes().map(
      (pid): Leftover => ({
        what: "model process",
        where: `${name}: process ${pid}`,
      }),
    ),
    ...filesIn(runner.folder)
      .filter((path) => !KEPT.some((pattern) => pattern.test(path)))
      .map((path): Leftover => ({ what: "file of a runner", where: `${name}: ${path}` })),
  ];
}

/** Folders too, if there is nothing in them but their own kind is not known. */
const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)));
