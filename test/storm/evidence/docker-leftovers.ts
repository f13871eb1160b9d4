/** Leftovers of a Docker runner that has ended, besides its containers. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { docker } from "../../docker/registry.ts";
import type { Leftovers } from "../history.ts";
import { labelOf } from "../weather/models.ts";

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
export async function watchDocker(runner: string): Promise<() => Promise<Leftovers[]>> {
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
