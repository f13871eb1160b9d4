/** Leftovers of a runner that has ended well: processes of its models, and files. */
import { readdirSync } from "node:fs";
import { join, relative } from "node:path";
import type { Leftovers } from "../history.ts";
import type { StormRunner } from "../weather/storm-runner.ts";
import { watchDocker } from "./docker-leftovers.ts";

/** The folders of the models, which the storm makes. */
const GIVEN = ["models", "owners"];
/**
 * Files that a runner keeps: the cache has input files, each with a record of its source, and images.json
 * lists the pulled images. Other files last only as long as a prediction runs.
 */
const KEPT = /^(?:cache\/inputs\/(?:files|sources)\/|images\.json$)/;

export async function leftoversOf(runner: StormRunner): Promise<Leftovers[]> {
  const { name } = runner;
  const leftWithDocker = runner.isBoxed ? await watchDocker(name) : async () => [];
  const endedWell = await runner.finish();
  const deaths = endedWell ? runner.deaths : [...runner.deaths, "did not end well when told to"];
  const files = filesIn(runner.folder);
  const left = files.filter((path) => !KEPT.test(path));
  const own = (what: Leftovers["what"], looked: number, found: unknown[]): Leftovers => ({
    what,
    looked,
    found: found.map((one) => `${name}: ${one}`),
  });
  return [
    own("runner that died by itself", 1, deaths),
    own("model process", 1, await runner.models.list()),
    own("file of a runner", files.length, left),
    ...(await leftWithDocker()),
  ];
}

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .filter((path) => !GIVEN.some((given) => path.startsWith(`${given}/`)));
