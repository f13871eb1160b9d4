/** End-to-end time of a no-op prediction next to the floor, in turn on the same machine. */
import { fork } from "node:child_process";
import { join } from "node:path";
import { ROOT } from "../../src/dev/bundle.ts";
import { type Bed, bundleWorker, end, noop, startBare } from "./bed.ts";
import type { Effort } from "./effort.ts";
import { type Round, round } from "./round.ts";
import { median } from "./statistics.ts";
import { ms, perSecond, type Table, times, type Verdict } from "./table.ts";

/** Requests of a round by concurrency: about half a second each. */
const REQUESTS = { 1: 40, 8: 120, 32: 192 };
const MOST_AT_1 = 1.4;
const LEAST_AT_32 = 0.75;

export async function measureLatency({ client }: Bed, effort: Effort): Promise<Table> {
  const floor = await startFloor();
  try {
    const rows: string[][] = [];
    const verdicts: Verdict[] = [];
    const calls = [() => noop(client), floor.call] as const;
    // The first requests are slower than all that follow, because V8 compiles the code meanwhile.
    for (const call of calls) await round(call, 32, 2 * REQUESTS[32] * effort.requests);
    for (const concurrency of [1, 8, 32] as const) {
      const [ours, bare] = await inTurn(calls, concurrency, effort);
      const slower = ours.latency / bare.latency;
      const share = ours.throughput / bare.throughput;
      rows.push([
        String(concurrency),
        ms(ours.latency),
        ms(bare.latency),
        times(slower),
        perSecond(ours.throughput),
        perSecond(bare.throughput),
        times(share),
      ]);
      if (concurrency === 1) {
        const bound = { most: MOST_AT_1 };
        verdicts.push({ what: "time at 1", value: slower, bound, hard: effort.timed });
      }
      if (concurrency === 32) {
        const bound = { least: LEAST_AT_32 };
        verdicts.push({ what: "throughput at 32", value: share, bound, hard: effort.timed });
      }
    }
    return {
      title: "A no-op prediction, end to end (Prefer: wait, warm container, process engine)",
      head: ["at a time", "Auspex", "floor", "ratio", "Auspex", "floor", "ratio"],
      rows,
      notes: [
        "floor: a bare Worker makes an object with one row, which wakes a long poll; its client answers by POST",
      ],
      verdicts,
    };
  } finally {
    await floor.stop();
  }
}

async function startFloor() {
  const deployment = await startBare(await bundleWorker("floor"));
  const runner = fork(join(ROOT, "test/bench/floor-runner.ts"), [deployment.url]);
  return {
    async call() {
      const response = await fetch(`${deployment.url}/run`, { method: "POST" });
      if ((await response.text()) !== "ok") throw new Error("the floor gave way");
    },
    async stop() {
      await end(runner);
      await deployment.stop();
    },
  };
}

/**
 * Measures in rounds A B A B …, so that other work of the machine affects both. Returns medians over the
 * rounds.
 */
async function inTurn(
  calls: readonly [() => Promise<void>, () => Promise<void>],
  concurrency: 1 | 8 | 32,
  effort: Effort,
): Promise<[Round, Round]> {
  const rounds: [Round[], Round[]] = [[], []];
  for (let n = 0; n < effort.rounds; n++) {
    for (const side of [0, 1] as const) {
      rounds[side].push(
        await round(calls[side], concurrency, REQUESTS[concurrency] * effort.requests),
      );
    }
  }
  const typical = (all: Round[]): Round => ({
    latency: median(all.map(({ latency }) => latency)),
    throughput: median(all.map(({ throughput }) => throughput)),
  });
  return [typical(rounds[0]), typical(rounds[1])];
}
