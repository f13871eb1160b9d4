/** One storm: the seed's plan is carried out, then all is calm, and all promises are checked. */
import { createWriteStream, mkdirSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { format } from "node:util";
import { DEFAULT_HARDWARE } from "../../src/protocol/hardware.ts";
import { startRegistry } from "../docker/registry.ts";
import { duotone, SAMPLE } from "../journey/support/duotone.ts";
import { type Bed, makeBed } from "./bed.ts";
import { moneyOf, openBudgets } from "./callers/budgets.ts";
import { callAll } from "./callers/call.ts";
import { changeAccess } from "./callers/changes.ts";
import { openEndpoints, watchLists } from "./callers/endpoints.ts";
import { COLOURS } from "./callers/picture.ts";
import { heal, settle } from "./calm.ts";
import { deliveriesOf, removeAll } from "./evidence/ends.ts";
import { rowsOf } from "./evidence/list.ts";
import { collectEnds, hashOf, listsOf } from "./evidence/predictions.ts";
import { leftoversOf } from "./evidence/runners.ts";
import { leftoversIn } from "./evidence/state-files.ts";
import type { History } from "./history.ts";
import { callsOf } from "./plan/calls.ts";
import { changesOf, watchedCalls } from "./plan/changes.ts";
import { endpointsOf } from "./plan/endpoints.ts";
import { faultsOf } from "./plan/faults.ts";
import { type Checked, checkAll } from "./promises/all.ts";
import { Recorder } from "./recorder.ts";
import { unleash } from "./weather/weather.ts";

interface StormOptions {
  seed: number;
  predictions: number;
  minutes: number;
  /** The frequency of faults: 1, or more. */
  strength: number;
  runners: number;
  /** Whether one more runner takes part, whose models are containers. */
  docker: boolean;
  /** The folder of the state, the runners' folders and logs, and the timeline. */
  folder: string;
}

/** The time from the last fault to the end of all predictions that it delayed, ms. */
const CALM_MS = 90_000;
const MOST_TEXT = 2_000;

export async function storm(
  options: StormOptions,
): Promise<{ history: History; checked: Checked[] }> {
  const { seed, predictions, folder } = options;
  const duration = options.minutes * 60_000;
  const changes = changesOf(seed, duration);
  const drawn = callsOf(seed, predictions, duration);
  const calls = [...drawn, ...watchedCalls(changes, drawn.length)];
  const endpoints = endpointsOf(seed);
  const runners = options.runners + (options.docker ? 1 : 0);
  const faults = faultsOf(seed, { runners, duration, strength: options.strength });
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, "plan.json"),
    JSON.stringify({ options, calls, endpoints, faults, changes }, null, 1),
  );
  const giveBack = divertConsole(join(folder, "control-plane.log"));
  const registry = options.docker ? await startRegistry() : undefined;
  const bed = await makeBed(folder, options.runners, registry);
  const recorder = new Recorder(join(folder, "timeline.jsonl"));
  const { history } = recorder;
  try {
    history.endpoints = await openEndpoints(bed, endpoints);
    await openBudgets(bed, DEFAULT_HARDWARE);
    const over = new AbortController();
    const ground = bed.ground(recorder, over.signal);
    const calling = callAll(ground, calls);
    const changing = changeAccess(ground, changes);
    const watching = watchLists(ground);
    await Promise.all([unleash(bed, faults, recorder), sleep(duration)]);
    recorder.note("calm");
    await heal(bed, recorder);
    await Promise.race([calling, sleep(CALM_MS)]);
    recorder.note("callers are told to give up");
    over.abort();
    await Promise.all([calling, changing, watching]);
    await settle(bed, recorder);
    history.ends = await collectEnds(bed, history);
    history.lists = await listsOf(bed);
    history.money = await moneyOf(bed);
    recorder.note("all has been looked at");
    history.deliveries = await deliveriesOf(bed.receiver.received, history);
    history.leftovers = await clear(bed, recorder);
  } finally {
    recorder.close();
    writeFileSync(join(folder, "history.json"), JSON.stringify(history, shortened));
    await bed.close();
    await registry?.stop();
    giveBack();
  }
  return { history, checked: checkAll(history, await pictures()) };
}

/** Ends the runners, removes all data, ends the deployment, and collects the leftovers. */
async function clear(bed: Bed, recorder: Recorder): Promise<History["leftovers"]> {
  const known = new Set<string>();
  for (const client of Object.values(bed.clients))
    for (const { id } of await rowsOf(client)) known.add(id);
  const left = (await Promise.all(bed.runners.map(leftoversOf))).flat();
  recorder.note("runners have ended");
  await removeAll(bed);
  await bed.stop();
  recorder.note("all is removed");
  const awaited = recorder.history.ends
    .filter(({ webhooks }) =>
      webhooks.some(({ deliveries }) => deliveries.some(({ state }) => state === "pending")),
    )
    .map(({ id }) => id);
  return [...left, ...leftoversIn(bed.stateFolder, known, new Set(awaited))];
}

/** Returns a shortened text: large outputs do not help a reader of the report. */
const shortened = (_: string, value: unknown) =>
  typeof value === "string" && value.length > MOST_TEXT ? value.slice(0, MOST_TEXT) : value;

async function pictures(): Promise<string[]> {
  const sample = await readFile(SAMPLE);
  return Promise.all(COLOURS.map(async (colours) => hashOf(await duotone(sample, colours))));
}

const METHODS = ["log", "info", "warn", "error"] as const;

/** @returns a function that restores the console */
function divertConsole(file: string): () => void {
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
