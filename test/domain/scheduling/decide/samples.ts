/** Jobs, boxes and pools for tests. */
import { PoolState } from "../../../../src/domain/scheduling/decide/pool-state.ts";
import type {
  Ask,
  BoxView,
  ContainerView,
  Settings,
} from "../../../../src/domain/scheduling/decide/types.ts";

export const NOW = 1_800_000_000_000;

export const ask = (id: string, fields: Partial<Ask> = {}): Ask => ({
  id,
  account: "ada",
  priority: "normal",
  hardware: "l40s",
  gpus: 1,
  key: "story",
  image: `registry.example.com/${fields.key ?? "story"}`,
  max_concurrency: 1,
  run_limit_ms: 600_000,
  at: NOW,
  ...fields,
});

export const container = (id: string, fields: Partial<ContainerView> = {}): ContainerView => ({
  id,
  key: "story",
  image: `registry.example.com/${fields.key ?? "story"}`,
  hardware: "l40s",
  gpus: 1,
  phase: "ready",
  users: 0,
  max_concurrency: 1,
  since: NOW - 60_000,
  runs: [],
  ...fields,
});

export const busy = (id: string, key: string, since = NOW): ContainerView =>
  container(id, { key, users: 1, runs: [since] });

export const box = (id: string, fields: Partial<BoxView> = {}): BoxView => ({
  id,
  classes: ["l40s"],
  slots: 100,
  handed: 0,
  handouts: [],
  containers_max: 100,
  gpus: 3,
  containers: [],
  images: new Set(),
  ...fields,
});

/** Returns a pool whose boxes all take jobs. */
export function poolOf(boxes: BoxView[], settings: Partial<Settings> = {}): PoolState {
  const state = new PoolState(settings);
  for (const one of boxes) {
    state.report(one, NOW);
    state.setTakes(one.id, true);
  }
  return state;
}
