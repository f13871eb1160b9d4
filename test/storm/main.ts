/**
 * `npm run storm`: real runners, workerd, models and the network are broken at random while predictions of
 * every kind run; then every promise is checked from outside. Fails when a promise is broken. The same seed
 * gives the same calls and the same faults, though not the same races.
 */
import { spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { format } from "node:util";
import { misused, readCommandLine, readNumber } from "../../src/dev/command-line.ts";
import { print } from "../bench/table.ts";
import type { History } from "./history.ts";
import type { Checked } from "./promises/all.ts";
import { type Breach, endOf } from "./promises/promise.ts";

// The state is in memory if there is room, which this module sets up.
import "../projects/shared.ts";
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

const METHODS = ["log", "info", "warn", "error"] as const;

/** @returns a function that restores the console */
export function divertConsole(file: string): () => void {
  const stream = createWriteStream(file);
  const before = METHODS.map((name) => [name, console[name]] as const);
  for (const name of METHODS)
    console[name] = (...words: unknown[]) =>
      void stream.write(`${new Date().toISOString()} ${format(...words)}\n`);
  return () => {
    for (const [name, method] of before) console[name] = method;
    stream.end();
  };
}

/** The most breaches that are shown of each promise. */
const MOST_SHOWN = 5;
/**
 * The report shows faults from this long before a prediction's creation to this long after its last change,
 * ms.
 */
const AROUND_MS = 2_000;

function report(history: History, checked: Checked[], title: string): void {
  print({
    title,
    head: ["what was promised", "checked", "broken"],
    rows: checked.map(({ name, checked, breaches }) => [name, `${checked}`, `${breaches.length}`]),
    notes: [summary(history)],
  });
  for (const { name, breaches } of checked.filter((one) => one.breaches.length > 0)) {
    console.log(`\nBROKEN: ${name}`);
    for (const breach of breaches.slice(0, MOST_SHOWN)) console.log(detail(history, breach));
    if (breaches.length > MOST_SHOWN) console.log(`  … and ${breaches.length - MOST_SHOWN} more`);
  }
}

function summary({ calls, ends, faults, readings }: History): string {
  const statuses = countsOf(ends.map(({ object }) => object?.status ?? "gone"));
  const connections = readings.reduce((sum, reading) => sum + reading.connections.length, 0);
  const accepted = new Set(calls.flatMap(({ accepted }) => accepted.map(({ id }) => id)));
  return [
    `${calls.length} calls, ${accepted.size} predictions accepted, ${ends.length} made: ${statuses}`,
    `${readings.length} readers over ${connections} connections`,
    `${faults.length} faults: ${countsOf(faults.map(({ what }) => what.replace(/ \d+|of \d+/, "")))}`,
    `failures: ${countsOf(ends.flatMap(({ object }) => (object?.error ? [reasonIn(object.error)] : [])))}`,
  ].join("\n");
}

/** Returns the first line of an error: the last output of a container follows on further lines. */
const reasonIn = ({ message }: { message: string }) => message.split("\n")[0] ?? "";

function countsOf(words: string[]): string {
  const groups = [...Map.groupBy(words, (word) => word)];
  return groups.map(([word, { length }]) => `${length} ${word}`).join(", ");
}

function detail(history: History, { id, n, what }: Breach): string {
  const call = history.calls.find((made) => made.call.n === n)?.call;
  const object = id === undefined ? undefined : endOf(history, id)?.object;
  const lines = [`  - ${what}`, `    prediction ${id ?? "unknown"}`];
  if (call) lines.push(`    call ${JSON.stringify(call)}`);
  if (object) {
    const from = Date.parse(object.created_at);
    const to = Date.parse(object.updated_at);
    const faults = history.faults.filter(({ at }) => at > from - AROUND_MS && at < to + AROUND_MS);
    lines.push(`    ${object.status}, ${object.created_at} to ${object.updated_at}`);
    const times = faults.map(({ at, what }) => `${at - from} ms ${what}`);
    lines.push(`    faults since it was made: ${times.join("; ")}`);
  }
  return lines.join("\n");
}
