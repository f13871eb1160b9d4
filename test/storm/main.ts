/**
 * `npm run storm`: real runners, workerd, models and the network are broken at random while
 * predictions of every kind run; then every promise is checked from outside. Fails when one is
 * broken. The same seed gives the same calls and the same faults, though not the same races.
 *
 *   --predictions n   calls, of which some make none (2000)
 *   --minutes n       how long things break (10)
 *   --strength n      2: they break twice as often (1)
 *   --runners n       (3)
 *   --docker          and one more, whose models are containers
 *   --seed n          random unless it is given
 *   --folder path     a new one, where all is kept (below TMPDIR)
 *   --keep            keeps the folder, also when all is well
 */
import { randomInt } from "node:crypto";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
// In memory, where there is room.
import "../projects/shared.ts";
import { report } from "./report.ts";
import { storm } from "./storm.ts";

const { values } = parseArgs({
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

/** A new one: at the end it is removed. */
async function ownFolder(given?: string): Promise<string> {
  if (given === undefined) return mkdtemp(join(tmpdir(), "auspex-storm-"));
  const path = resolve(given);
  await mkdir(path);
  return path;
}

const { docker } = values;
const folder = await ownFolder(values.folder);
const given = {
  predictions: Number(values.predictions),
  minutes: Number(values.minutes),
  strength: Number(values.strength),
  runners: Number(values.runners),
  seed: Number(values.seed),
};
const flags = Object.entries(given).map(([name, value]) => `--${name} ${value}`);
const title = `npm run storm -- ${flags.join(" ")}${docker ? " --docker" : ""}`;

console.log(`${title}\nThe timeline is in ${folder}`);
const { history, checked } = await storm({ ...given, docker, folder });
report(history, checked, title);
const isBroken = checked.some(({ breaches }) => breaches.length > 0);
if (isBroken) console.log(`\nBROKEN: ${title}\nWhat is left of it is in ${folder}`);
else if (!values.keep) await rm(folder, { recursive: true });
// Not by itself: what still waits would hold the process.
process.exit(isBroken ? 1 : 0);
