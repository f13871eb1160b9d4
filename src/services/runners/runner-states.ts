/** The states of runners, from their own objects and their pools. */
import { isOutdated } from "../../domain/runners/runner-version.ts";
import { offlineMs } from "../../domain/runners/silence.ts";
import type { RunnerCondition } from "../../objects/stubs/pool.ts";
import { type Presence, runnerAt } from "../../objects/stubs/runner.ts";
import type { RunnerState } from "../../protocol/fleet.ts";
import type { RunnerRow } from "../../storage/runners/runners.ts";
import { readManifest } from "../assets.ts";
import type { Services } from "../services.ts";
import { withTimeout } from "../with-timeout.ts";
import { findMadePools } from "./pools.ts";

/** The facts that the state of a runner is derived from. */
interface FleetContext {
  latest_version: string;
  /** The time since when a runner must have been heard from, Unix ms. Other runners are offline. */
  seenSince: number;
}

export async function fleetContext({ env, settings }: Services): Promise<FleetContext> {
  const { runner } = await readManifest(env);
  const seenSince = Date.now() - offlineMs(settings.telemetrySeconds);
  return { latest_version: runner.version, seenSince };
}

/** @param ms how long objects may take: the state of a runner whose object takes longer is `unknown` */
export async function readStates(
  services: Services,
  rows: RunnerRow[],
  ms?: number,
): Promise<RunnerState[]> {
  const { env } = services;
  const [context, { asides, conditions }] = await Promise.all([
    fleetContext(services),
    askPools(services, rows, ms),
  ]);
  const runners = await Promise.all(
    rows.map(async (row) => {
      const { id } = row;
      const presence = await withTimeout(runnerAt(env, id).getPresence(), `runner ${id}`, ms);
      return {
        ...toState(row, presence, conditions.get(id), context),
        set_aside_until: timeOrNull(asides.get(id)?.until),
        set_aside_reason: asides.get(id)?.reason ?? null,
      };
    }),
  );
  return countRunningOnce(runners);
}

async function askPools(services: Services, rows: RunnerRow[], ms?: number) {
  const served = [...new Set(rows.map(({ pool }) => pool))];
  const pools = await findMadePools(services, served);
  const answers = await Promise.all(
    pools.map(async ({ name, pool }) => ({
      asides: withTimeout(pool.suspendedRunners(), `pool ${name}`, ms),
      conditions: withTimeout(pool.conditions(), `pool ${name}`, ms),
    })),
  );
  const asides = await Promise.all(answers.map((answer) => answer.asides));
  const conditions = await Promise.all(answers.map((answer) => answer.conditions));
  return {
    asides: new Map(asides.flatMap((one) => [...(one ?? [])])),
    conditions: new Map(conditions.flatMap((one) => [...(one ?? [])])),
  };
}

/**
 * Counts a prediction only for the runner that reported it last: after a runner is lost, two may report the
 * same prediction for a while.
 */
function countRunningOnce(runners: RunnerState[]): RunnerState[] {
  const latest = new Map<string, RunnerState>();
  for (const runner of runners)
    for (const id of runner.running) {
      const other = latest.get(id);
      if ((other?.last_seen_at ?? "") <= (runner.last_seen_at ?? "")) latest.set(id, runner);
    }
  return runners.map((runner) => ({
    ...runner,
    running: runner.running.filter((id) => latest.get(id) === runner),
  }));
}

const timeOrNull = (at: number | undefined) =>
  at === undefined ? null : new Date(at).toISOString();

/** @param presence null: no session has begun; undefined: unknown */
function toState(
  { id, name, hardware, pool, revoked_at }: RunnerRow,
  presence: Presence | null | undefined,
  condition: RunnerCondition | undefined,
  { latest_version, seenSince }: FleetContext,
): Omit<RunnerState, "set_aside_until" | "set_aside_reason"> {
  if (!presence) {
    const state = presence === null ? "offline" : "unknown";
    const revoked = revoked_at !== null;
    return { id, name, hardware, pool, latest_version, state, revoked, ...UNKNOWN_STATE };
  }
  const {
    connected = null,
    lost_gpus = null,
    hottest_gpu: gpu_celsius = null,
    fullest_disk: fullest = null,
    reported_at = 0,
    failed_starts: failed,
  } = condition ?? {};
  const { session: _, started_at, last_seen_at, draining_since, ...reported } = presence;
  // The pool's `reported_at` counts, too: a runner's reports may fail while it polls.
  const seenAt = Math.max(last_seen_at, reported_at);
  const revoked = revoked_at !== null;
  const isGone = seenAt < seenSince || revoked;
  return {
    ...reported,
    id,
    latest_version,
    revoked,
    outdated: isOutdated(reported.version, latest_version),
    // A runner that stopped in good order is not offline.
    state: reported.state !== "stopped" && isGone ? "offline" : reported.state,
    draining_since: timeOrNull(draining_since ?? undefined),
    started_at: new Date(started_at).toISOString(),
    last_seen_at: new Date(seenAt).toISOString(),
    connected,
    lost_gpus,
    gpu_celsius,
    disk: fullest && { free_bytes: fullest.free, total_bytes: fullest.total },
    failed_starts: failed ? { ...failed, at: new Date(failed.at).toISOString() } : null,
  };
}

const UNKNOWN_STATE = {
  version: "",
  outdated: false,
  engine: "",
  draining: false,
  draining_since: null,
  started_at: null,
  last_seen_at: null,
  connected: null,
  lost_gpus: null,
  gpu_celsius: null,
  disk: null,
  failed_starts: null,
  machine: null,
  load: null,
  slots: 0,
  running: [],
  warm: [],
};
