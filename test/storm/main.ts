/**
 * `npm run storm`: real runners, workerd, models and the network are broken at random while predictions of
 * every kind run; then every promise is checked from outside. Fails when a promise is broken. The same seed
 * gives the same calls and the same faults, though not the same races.
 */
import { spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { misused, readCommandLine, readNumber } from "../../src/dev/command-line.ts";
// The state is in memory if there is room, which this module sets up.
import "../projects/shared.ts";
import { report } from "./report.ts";
import { storm } from "./storm.ts";

const USAGE = `npm run storm -- [options]

  --predictions n   calls, of which some make none (default: 2000)
  --minutes n       how long things break (10)
  --strength n      2: they break twice as often (1)
  --runners n       how many runners (3)
  --docker          one more, whose models are containers
  --seed n          the same calls and faults as in another storm (random)
  --folder path     a new folder, where everything is kept (below TMPDIR)
  --keep            keeps the folder even if all is well`;

const { values } = readCommandLine(USAGE, {
  options: {
    predictions: { type: "string", default: "2000" },
    minutes: { type: "string", default: "10" },
    strength: { type: "string", default: "1" },
    runners: { type: "string", default: "3" },
    seed: { type: "string", default: String(randomInt(2 ** 31)) },
    docker: { type: "boolean", default: false },
    folder: { type: "string" },
    keep: { type: "boolean", default: false },
  },
});

/** Returns the folder of the storm. A new one is removed at the end. */
async function ownFolder(given?: string): Promise<string> {
  if (given === undefined) return mkdtemp(join(tmpdir(), "auspex-storm-"));
  const path = resolve(given);
  await mkdir(path).catch((error: Error) => misused(USAGE, `--folder: ${error.message}.`));
  return path;
}

const { docker } = values;
const given = {
  predictions: readNumber(USAGE, "predictions", values.predictions),
  minutes: readNumber(USAGE, "minutes", values.minutes, { least: 0.1, whole: false }),
  strength: readNumber(USAGE, "strength", values.strength, { least: 0, whole: false }),
  runners: readNumber(USAGE, "runners", values.runners),
  seed: readNumber(USAGE, "seed", values.seed, { least: 0 }),
};
if (docker && spawnSync("docker", ["info"], { stdio: "ignore" }).status !== 0)
  misused(USAGE, "Docker does not respond: start it, or leave --docker out.");
const folder = await ownFolder(values.folder);
const flags = Object.entries(given).map(([name, value]) => `--${name} ${value}`);
const title = `npm run storm -- ${flags.join(" ")}${docker ? " --docker" : ""}`;

console.log(`${title}\nThe timeline is in ${folder}`);
const { history, checked } = await storm({ ...given, docker, folder });
report(history, checked, title);
const isBroken = checked.some(({ breaches }) => breaches.length > 0);
if (isBroken) console.log(`\nBROKEN: ${title}\nWhat is left of it is in ${folder}`);
else if (!values.keep) await rm(folder, { recursive: true });
// Open handles would keep the process alive, so it exits explicitly.
process.exit(isBroken ? 1 : 0);
