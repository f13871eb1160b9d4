/** A large pool: 1,000 boxes with 20 containers each, and 1,000 waiting jobs. */
import { PoolState } from "../../src/domain/scheduling/decide/pool-state.ts";
import type { Ask, BoxView, ContainerView } from "../../src/domain/scheduling/decide/types.ts";

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
  "starts where there is room": { idle: 0, free: true, known: false },
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
      room: 1,
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
  room: 1,
  run_limit_ms: 1_800_000,
  at: NOW,
});
