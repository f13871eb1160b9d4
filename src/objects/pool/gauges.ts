/** The pool's line and runners in numbers, for the metrics of the deployment. */
import {
  MAX_CONTAINER_SERIES,
  MAX_DISKS,
  MAX_GPUS,
  type PoolGauges,
} from "../../domain/metrics/gauges.ts";
import type { Bindings } from "../../env.ts";
import { gpuReading } from "../../protocol/runner-state.ts";
import { Counts } from "../stubs/metrics.ts";
import type { ConnectedRunners } from "./connected-runners.ts";
import type { ContainerNames } from "./containers.ts";
import type { PoolRunner } from "./pool-runner.ts";
import { conditionOf } from "./runner-report.ts";
import type { WaitingCount } from "./waiting-jobs.ts";

export function poolGauges(
  waiting: WaitingCount[],
  connected: ConnectedRunners,
  names: ContainerNames,
  now: number,
): Omit<PoolGauges, "pool"> {
  const runners = [...connected.all];
  const suspended = connected.reliability.suspended(now);
  const isSuspended = ({ id }: PoolRunner) => suspended.has(id);
  const usable = runners.filter((one) => conditionOf(one, now).connected);
  const used = usable.reduce((sum, { usedSlots }) => sum + usedSlots, 0);
  const slots = usable.reduce((sum, one) => sum + one.slots, 0);
  const containers = runners.flatMap(({ snapshot }) =>
    snapshot.containers.map(({ key, phase }) => {
      // The runner's own name for a container may be any text.
      const name = names.find(key)?.model?.name;
      return JSON.stringify([name?.replace(/:.*/, "") ?? "unknown", phase]);
    }),
  );
  return {
    waiting: waiting.map(({ hardware, priority, count, since }) => ({
      class: hardware,
      priority,
      count,
      oldest_ms: Math.max(0, now - since),
    })),
    // A pool without a runner has zeros, which a rule can compare.
    runners: STATES.map((state) => ({
      state,
      count: runners.filter((one) => stateOf(one, isSuspended(one), now) === state).length,
    })),
    classes: classesOf(runners.filter((one) => stateOf(one, isSuspended(one), now) === "ready")),
    slots: [
      { state: "used", count: used },
      { state: "free", count: Math.max(0, slots - used) },
    ],
    containers: countsOf(containers)
      .slice(0, MAX_CONTAINER_SERIES)
      .map(([key, count]) => {
        const [model, state]: [string, string] = JSON.parse(key);
        return { model, state, count };
      }),
    gpus: gpusOf(usable),
    disks: disksOf(usable),
  };
}

/**
 * Returns the GPUs with readings: the first of each runner, then the second, so that a runner that reports many
 * takes no other's place.
 */
function gpusOf(runners: PoolRunner[]): PoolGauges["gpus"] {
  const found = runners.flatMap(({ name: runner = "", snapshot }) =>
    snapshot.devices.flatMap((device, place) => {
      const { id: gpu } = device;
      const { data: reading = {} } = gpuReading.safeParse(device);
      return Object.keys(reading).length === 0 ? [] : [{ place, runner, gpu, reading }];
    }),
  );
  const gpus = found.toSorted((a, b) => a.place - b.place).map(({ place: _, ...one }) => one);
  return firstOfEach(gpus, ({ runner, gpu }) => [runner, gpu]).slice(0, MAX_GPUS);
}

const disksOf = (runners: PoolRunner[]): PoolGauges["disks"] =>
  firstOfEach(
    runners.flatMap(({ name: runner = "", snapshot: { disks } }) =>
      (["data", "images"] as const).flatMap((disk) => {
        const { [disk]: use } = disks;
        return use ? [{ runner, disk, use }] : [];
      }),
    ),
    ({ runner, disk }) => [runner, disk],
  ).slice(0, MAX_DISKS);

/**
 * Returns the first item with each labels: runners of different tokens may have the same name, and a runner may
 * name the GPUs of another.
 */
function firstOfEach<Item>(items: Item[], labelsOf: (item: Item) => string[]): Item[] {
  const first = new Map<string, Item>();
  for (const item of items) {
    const labels = JSON.stringify(labelsOf(item));
    if (!first.has(labels)) first.set(labels, item);
  }
  return [...first.values()];
}

const classesOf = (ready: PoolRunner[]): PoolGauges["classes"] =>
  [...new Set(ready.flatMap(({ hardware }) => hardware))].map((name) => ({
    class: name,
    has_free_slot: ready.some((one) => one.serves(name) && one.usedSlots < one.slots),
  }));

const STATES = ["ready", "draining", "set_aside", "silent"] as const;

function stateOf(runner: PoolRunner, isSuspended: boolean, now: number): (typeof STATES)[number] {
  if (runner.draining) return "draining";
  if (isSuspended) return "set_aside";
  return conditionOf(runner, now).connected ? "ready" : "silent";
}

/** Returns how often each text comes, most often first. */
const countsOf = (texts: string[]): [string, number][] =>
  [...Map.groupBy(texts, (text) => text)]
    .map(([text, all]): [string, number] => [text, all.length])
    .toSorted(([, a], [, b]) => b - a);

/** Counts events of the pool for the metrics of the deployment. */
export class PoolCounts {
  readonly #ctx: DurableObjectState;
  readonly #counts: Counts;

  constructor(ctx: DurableObjectState, env: Bindings) {
    this.#ctx = ctx;
    this.#counts = new Counts(env);
  }

  add(event: "cold_starts" | "evictions", count: number): void {
    if (count === 0) return;
    const labels = { pool: this.#ctx.id.name ?? "" };
    this.#counts.add("pool", labels, event, count, (sending) => this.#ctx.waitUntil(sending));
  }
}
