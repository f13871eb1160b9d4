/** A large pool: 1,000 boxes with 20 containers each, and 1,000 waiting jobs. */

import { decide } from "../../src/domain/scheduling/decide/decide.ts";
import { PoolState } from "../../src/domain/scheduling/decide/pool-state.ts";
import type { Ask, BoxView, ContainerView } from "../../src/domain/scheduling/decide/types.ts";
import { quantile } from "../bench/statistics.ts";
import { ms, print, type Table } from "../bench/table.ts";

export const NOW = 1_800_000_000_000;
export const BOXES = 1_000;
export const CONTAINERS = 20;
export const WAITING = 1_000;
const KEYS = 2_000;
const HARDWARE = "l40s";

interface LargePool {
  /** The share of the containers that are idle. */
  idle: number;
  /** Whether boxes have free GPUs. */
  free: boolean;
  /** Whether jobs ask for keys that have containers. */
  known: boolean;
}

/** Large pools by the decision that they lead to. */
export const LARGE_POOLS: Record<string, LargePool> = {
  "joins a container": { idle: 0.5, free: false, known: true },
  "starts where there is max_concurrency": { idle: 0, free: true, known: false },
  "swaps containers": { idle: 0.5, free: false, known: false },
  "does nothing": { idle: 0, free: false, known: true },
};

export function largePool({ idle, free, known }: LargePool): PoolState {
  const state = new PoolState({ account_share: 1 });
  for (let n = 0; n < BOXES; n += 1) {
    state.report(boxOf(n, idle, free), NOW);
    state.setTakes(`box-${n}`, true);
  }
  for (let n = 0; n < WAITING; n += 1) state.ask(askOf(n, known ? n % KEYS : KEYS + n));
  return state;
}

function boxOf(number: number, idle: number, free: boolean): BoxView {
  const containers = Array.from({ length: CONTAINERS }, (_, n): ContainerView => {
    const key = `key-${(number * CONTAINERS + n) % KEYS}`;
    const isIdle = n < idle * CONTAINERS;
    return {
      id: `${n}`,
      key,
      image: key,
      hardware: HARDWARE,
      gpus: 1,
      phase: "ready",
      users: isIdle ? 0 : 1,
      max_concurrency: 1,
      since: NOW - 100_000,
      idle_since: isIdle ? NOW - 1_000 : undefined,
      runs: isIdle ? [] : [NOW - 1_000],
    };
  });
  return {
    id: `box-${number}`,
    classes: [HARDWARE],
    slots: 100,
    handed: 0,
    handouts: [],
    containers_max: 100,
    gpus: CONTAINERS + (free ? 4 : 0),
    containers,
    images: new Set(containers.map(({ image }) => image)),
  };
}

const askOf = (number: number, key: number): Ask => ({
  id: `job-${number}`,
  account: `account-${number % 100}`,
  priority: "normal",
  hardware: HARDWARE,
  gpus: 1,
  key: `key-${key}`,
  image: `key-${key}`,
  max_concurrency: 1,
  run_limit_ms: 1_800_000,
  at: NOW,
});

const ROUNDS = 5;
const DECISIONS = 200;
const MOST_MS = 0.2;

/** @param isLimited whether a decision that takes too long is a missed target */
export function measureSpeed(isLimited: boolean): Table {
  const rows: string[][] = [];
  let worst = 0;
  for (const [name, pool] of Object.entries(LARGE_POOLS)) {
    const rounds = Array.from({ length: ROUNDS }, () => decisionsOf(largePool(pool)));
    const best = (q: number) => Math.min(...rounds.map((taken) => quantile(taken, q)));
    worst = Math.max(worst, best(0.5));
    rows.push([name, ms(best(0.5)), ms(best(0.95))]);
  }
  const bound = { most: MOST_MS };
  const what = "a decision, in the median of the best round, ms";
  const table: Table = {
    title: `decide among ${BOXES} boxes with ${CONTAINERS} containers each, ${WAITING} jobs waiting`,
    head: ["", "median", "p95"],
    rows,
    verdicts: [{ what, value: worst, bound, hard: isLimited }],
  };
  print(table);
  return table;
}

/** Returns the time of each decision, ms. */
function decisionsOf(state: PoolState): number[] {
  return Array.from({ length: DECISIONS }, () => {
    const began = performance.now();
    const decision = decide(state, NOW);
    const took = performance.now() - began;
    state.apply(decision, NOW);
    return took;
  });
}
