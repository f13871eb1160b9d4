/** Leftovers of a runner that has ended well: processes of its models, and files. */

import { execFile } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import { docker } from "../../docker/registry.ts";
import type { Leftovers } from "../history.ts";
import { labelOf } from "../weather/models.ts";
import type { StormRunner } from "../weather/storm-runner.ts";

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

/** Returns the paths of files without those of the given folders, whose models have thousands of packages' files. */
const filesIn = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => !GIVEN.includes(name))
    .flatMap((entry) =>
      entry.isDirectory()
        ? readdirSync(join(folder, entry.name), { recursive: true, withFileTypes: true })
        : [entry],
    )
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));

const run = promisify(execFile);

const BRIDGE = "com.docker.network.bridge.name";

const linesOf = (text: string) => text.split("\n").filter((line) => line !== "");

/** Returns the networks of a runner by name, each with its bridge. */
async function networksOf(runner: string): Promise<Map<string, string>> {
  const own = ["--filter", labelOf(runner), "--format", "{{.Name}}"];
  const names = linesOf(await docker("network", "ls", ...own));
  const format = `{{index .Options "${BRIDGE}"}}`;
  const bridges = names.map((name) => docker("network", "inspect", "--format", format, name));
  return new Map((await Promise.all(bridges)).map((bridge, n) => [names[n] ?? "", bridge]));
}

/** Returns the volumes with a file that has the runner's name (boxes.ts): other runners have volumes, too. */
async function volumesOf(runner: string): Promise<{ looked: number; found: string[] }> {
  const names = linesOf(await docker("volume", "ls", "--quiet"));
  const places = names.map((name) =>
    docker("volume", "inspect", "--format", "{{.Mountpoint}}", name)
      .then((place) => existsSync(join(place, runner)))
      // A volume of another runner may be removed meanwhile.
      .catch(() => false),
  );
  const isMarked = await Promise.all(places);
  return { looked: names.length, found: names.filter((_, n) => isMarked[n]) };
}

/** @returns a function to call when the runner has ended */
async function watchDocker(runner: string): Promise<() => Promise<Leftovers[]>> {
  const networks = await networksOf(runner);
  const volumes = await volumesOf(runner);
  return async () => {
    const { stdout } = await run("iptables", ["-w", "5", "-S"]);
    const rules = linesOf(stdout);
    const bridges = [...networks.values()];
    return [
      {
        what: "Docker network",
        looked: networks.size,
        found: [...(await networksOf(runner)).keys()],
      },
      {
        what: "Docker volume",
        looked: volumes.found.length,
        found: (await volumesOf(runner)).found,
      },
      {
        what: "firewall rule",
        looked: rules.length,
        found: rules.filter((rule) => bridges.some((bridge) => rule.includes(bridge))),
      },
    ];
  };
}
