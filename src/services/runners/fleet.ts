/** The fleet: the state of runners, and the queues that they serve. */
import { isOutdated } from "../../domain/runners/runner-version.ts";
import { classReasonText } from "../../domain/scheduling/class-text.ts";
import type { NamedClassExplanation } from "../../domain/scheduling/named-explanation.ts";
import { REASON_CODES } from "../../domain/scheduling/reason-codes.ts";
import { conflict, notFound } from "../../errors.ts";
import type { Presence } from "../../objects/runner/rpc-types.ts";
import { runnerAt } from "../../objects/runner/stub.ts";
import type { QueueState, RunnerState } from "../../protocol/operator.ts";
import { type HardwareRow, listHardware } from "../../storage/runners/hardware.ts";
import {
  deleteRunner,
  findRunner,
  findRunners,
  type RunnerRow,
  listRunners as runnersOf,
} from "../../storage/runners/runners.ts";
import { readManifest } from "../assets.ts";
import { type Page, type PageRequest, paginate } from "../pagination.ts";
import type { Services } from "../services.ts";
import { withTimeout } from "../with-timeout.ts";
import { findMadePool, findMadePools, poolIfMade } from "./pools.ts";
import { runnerCache } from "./runners.ts";

/** Missed reports after which a runner is shown as offline. */
const OFFLINE_REPORTS = 3;

/** Newest first. The state of an object that does not answer in time is `unknown`. */
export async function listRunners(
  services: Services,
  request: PageRequest,
): Promise<Page<RunnerState>> {
  const { db } = services;
  return paginate(services, request, {
    name: "runners",
    find: async (keyset) => readStates(services, await runnersOf(db, keyset)),
    keyOf: ({ id }) => [id],
    present: (runner) => runner,
  });
}

/** Some of them, in any order. */
export const readRunners = async (services: Services, ids: string[]): Promise<RunnerState[]> =>
  ids.length === 0 ? [] : readStates(services, await findRunners(services.db, ids));

/** A hardware class and its part of the queue. */
export interface FleetClass {
  identifier: string;
  /** Null: the class was deleted, but still has runners. */
  name: string | null;
  queue: QueueState;
}

/** A pool with its classes and the runners that serve any of them. */
export interface FleetPool {
  name: string;
  /** Sorted by identifier. */
  classes: FleetClass[];
  /** Sorted by name. */
  runners: RunnerState[];
}

/** Limits of one read, which calls an object for each class and runner. */
const MAX_CLASSES = 100;
const MAX_RUNNERS = 200;

/** The whole fleet. With more than 200 runners, the newest, and `complete` is false. */
export async function readFleet(
  services: Services,
): Promise<{ pools: FleetPool[]; complete: boolean }> {
  const { db } = services;
  const first = (limit: number) => ({ from: undefined, back: false, limit });
  const [known, rows] = await Promise.all([
    listHardware(db, first(MAX_CLASSES)),
    runnersOf(db, first(MAX_RUNNERS + 1)),
  ]);
  const runners = await readStates(services, rows.slice(0, MAX_RUNNERS));
  const standing = Map.groupBy(known, ({ pool }) => pool);
  const serving = Map.groupBy(runners, ({ pool }) => pool);
  const pools = [...new Set([...standing.keys(), ...serving.keys()])].map(async (name) => {
    const those = serving.get(name) ?? [];
    const rowOf = new Map(standing.get(name)?.map((row) => [row.identifier, row]));
    const identifiers = new Set([...rowOf.keys(), ...those.flatMap(({ hardware }) => hardware)]);
    const classes = [...identifiers].toSorted().map(async (identifier) => {
      const row = rowOf.get(identifier);
      // A class that is gone has been used: it has runners.
      const used = row ?? { identifier, pool: name, pool_made_at: 0 };
      return { identifier, name: row?.name ?? null, queue: await readQueue(services, used) };
    });
    return {
      name,
      classes: await Promise.all(classes),
      runners: those.toSorted((a, b) => a.name.localeCompare(b.name)),
    };
  });
  return { pools: await Promise.all(pools), complete: rows.length <= MAX_RUNNERS };
}

/** @throws ProblemError not_found */
export async function drainRunner(
  services: Services,
  id: string,
  draining: boolean,
): Promise<RunnerState> {
  const { env, db } = services;
  const row = await findRunner(db, id);
  const presence = row && (await runnerAt(env, id).setDraining(draining));
  if (!presence) throw unknownRunner(id);
  await (await findMadePool(services, presence.pool))?.refreshRunner(id, !draining);
  const [runner] = await readStates(services, [row]);
  if (!runner) throw unknownRunner(id);
  return runner;
}

/**
 * Removes a runner that is offline or stopped. If it comes back, it registers as a new one.
 * @throws ProblemError not_found; conflict while it is online
 */
export async function removeRunner(services: Services, id: string): Promise<void> {
  const { env, db } = services;
  const row = await findRunner(db, id);
  if (!row) throw unknownRunner(id);
  const { heardSince } = await fleetContext(services);
  const isShutOut = row.revoked_at !== null;
  const presence = await runnerAt(env, id).remove(isShutOut ? Date.now() : heardSince);
  if (presence)
    throw conflict(
      `The runner '${presence.name}' is ${presence.state}. Drain it and stop its process first.`,
    );
  await (await findMadePool(services, row.pool))?.refreshRunner(id, true);
  // Last: if this fails, the runner is still listed and can be removed again.
  await deleteRunner(db, id);
  runnerCache.forget(id);
}

/** The queue of each hardware class. */
export const listQueues = (services: Services, request: PageRequest): Promise<Page<QueueState>> =>
  paginate(services, request, {
    name: "queues",
    find: async (keyset) =>
      Promise.all((await listHardware(services.db, keyset)).map((row) => readQueue(services, row))),
    keyOf: ({ hardware }) => [hardware],
    present: (queue) => queue,
  });

async function readQueue(
  services: Services,
  { identifier, pool, pool_made_at }: Pick<HardwareRow, "identifier" | "pool" | "pool_made_at">,
): Promise<QueueState> {
  const noWaits = { oldest_wait_ms: null, median_wait_ms: null, reasons: [] };
  const names = { hardware: identifier, pool };
  const stub = poolIfMade(services, pool, pool_made_at);
  if (!stub) return { ...names, waiting: 0, free: 0, ...noWaits };
  const status = await withTimeout(stub.status(identifier), `pool ${pool}`);
  if (!status) return { ...names, waiting: null, free: null, ...noWaits };
  const { explanation, ...depth } = status;
  return { ...names, ...depth, reasons: reasonsOf(explanation, identifier) };
}

function reasonsOf(
  explanation: NamedClassExplanation | null,
  hardware: string,
): QueueState["reasons"] {
  if (!explanation) return [];
  return explanation.reasons.map((reason) => ({
    code: REASON_CODES[reason.why],
    waiting: reason.jobs,
    accounts: reason.accounts,
    runners: reason.boxes.map((id) => ({ id, name: explanation.names[id] ?? id })),
    message: classReasonText(reason, explanation, hardware, Date.now()),
  }));
}

const unknownRunner = (id: string) => notFound(`The runner '${id}'`);

/** What the state of a runner is derived from. */
interface FleetContext {
  latest_version: string;
  /** A runner not heard from since then is offline, Unix ms. */
  heardSince: number;
}

async function fleetContext({ env, settings }: Services): Promise<FleetContext> {
  const { runner } = await readManifest(env);
  const silence = OFFLINE_REPORTS * settings.telemetrySeconds * 1000;
  return { latest_version: runner.version, heardSince: Date.now() - silence };
}

async function readStates(services: Services, rows: RunnerRow[]): Promise<RunnerState[]> {
  const { env } = services;
  const [context, asides] = await Promise.all([fleetContext(services), readAsides(services, rows)]);
  const aside = new Map(asides.flatMap((one) => [...(one ?? [])]));
  const runners = await Promise.all(
    rows.map(async (row) => {
      const presence = await withTimeout(runnerAt(env, row.id).getPresence(), `runner ${row.id}`);
      return { ...toState(row, presence, context), set_aside_until: timeOrNull(aside.get(row.id)) };
    }),
  );
  return countRunningOnce(runners);
}

async function readAsides(services: Services, rows: RunnerRow[]) {
  const served = [...new Set(rows.map(({ pool }) => pool))];
  const pools = await findMadePools(services, served);
  return Promise.all(
    pools.map(({ name, pool }) => withTimeout(pool.suspendedRunners(), `pool ${name}`)),
  );
}

/**
 * After a runner is lost, two runners may report the same prediction for a while. It is counted for
 * the one that reported last.
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
  { latest_version, heardSince }: FleetContext,
): Omit<RunnerState, "set_aside_until"> {
  if (!presence) {
    const state = presence === null ? "offline" : "unknown";
    return { id, name, hardware, pool, latest_version, state, ...UNKNOWN_STATE };
  }
  const { session: _, started_at, last_seen_at, ...reported } = presence;
  const isGone = last_seen_at < heardSince || revoked_at !== null;
  return {
    ...reported,
    id,
    latest_version,
    outdated: isOutdated(reported.version, latest_version),
    // A runner that stopped in good order is not offline.
    state: reported.state !== "stopped" && isGone ? "offline" : reported.state,
    started_at: new Date(started_at).toISOString(),
    last_seen_at: new Date(last_seen_at).toISOString(),
  };
}

const UNKNOWN_STATE = {
  version: "",
  outdated: false,
  engine: "",
  draining: false,
  started_at: null,
  last_seen_at: null,
  machine: null,
  load: null,
  slots: 0,
  running: [],
  warm: [],
};
