/** The fleet: the state of runners, and the queues that they serve. */
import { goneFor, wantedHardware } from "../../domain/runners/silence.ts";
import { conflict, notFound } from "../../errors/errors.ts";
import { runnerAt } from "../../objects/stubs/runner.ts";
import type { QueueState, RunnerState } from "../../protocol/fleet.ts";
import { listHardware } from "../../storage/runners/hardware.ts";
import { findPools } from "../../storage/runners/pools.ts";
import {
  findRunner,
  findRunners,
  listNewestRunners,
  type RunnerRow,
  removeRunner as removeRow,
  listRunners as runnersOf,
} from "../../storage/runners/runners.ts";
import { auditEntry, recordRead } from "../audit/record.ts";
import { type Page, type PageRequest, paginate } from "../pagination.ts";
import type { Services } from "../services.ts";
import { withTimeout } from "../with-timeout.ts";
import { findMadePool } from "./pools.ts";
import { readQueues } from "./queues.ts";
import { fleetContext, readStates } from "./runner-states.ts";
import { runnerCache } from "./runners.ts";

/** Lists runners, newest first. The state of an object that does not answer in time is `unknown`. */
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

/** Returns the states of some runners, in any order. */
export const readRunners = async (services: Services, ids: string[]): Promise<RunnerState[]> =>
  ids.length === 0 ? [] : readStates(services, await findRunners(services.db, ids));

/** A hardware class and its part of the queue. */
export interface FleetClass {
  identifier: string;
  /** The name. Null: the class was deleted, but still has runners. */
  name: string | null;
  queue: QueueState;
}

/** A pool with its classes and the runners that serve any of them. */
export interface FleetPool {
  name: string;
  classes: FleetClass[];
  runners: RunnerState[];
}

/** Limits of one read, which calls an object for each class and runner. */
const MAX_CLASSES = 100;
const MAX_RUNNERS = 200;

/**
 * Returns the whole fleet. Of more than 200 runners it has the newest that may connect, and `complete` is
 * false.
 * @param ms how long objects may take, for a page that does without slow ones
 */
export async function readFleet(
  services: Services,
  ms?: number,
): Promise<{ pools: FleetPool[]; complete: boolean }> {
  const { db } = services;
  const [known, rows] = await Promise.all([
    listHardware(db, { from: undefined, back: false, limit: MAX_CLASSES }),
    listNewestRunners(db, MAX_RUNNERS + 1),
  ]);
  const runners = await readStates(services, rows.slice(0, MAX_RUNNERS), ms);
  const classesOf = Map.groupBy(known, ({ pool }) => pool);
  const serving = Map.groupBy(runners, ({ pool }) => pool);
  const names = [...new Set([...classesOf.keys(), ...serving.keys()])];
  const classes = names.flatMap((pool) => {
    const rowOf = new Map(classesOf.get(pool)?.map((row) => [row.identifier, row]));
    const served = serving.get(pool)?.flatMap(({ hardware }) => hardware) ?? [];
    return [...new Set([...rowOf.keys(), ...served])].toSorted().map((identifier) => {
      const { name = null, pool_made_at = 0 } = rowOf.get(identifier) ?? {};
      // A deleted class has been used, since it has runners.
      return { identifier, name, pool, pool_made_at };
    });
  });
  const queues = await readQueues(services, classes, ms);
  const withQueues = classes.flatMap(({ identifier, name, pool }, n) => {
    const queue = queues[n];
    return queue ? [{ identifier, name, pool, queue }] : [];
  });
  const pools = names.map((name) => ({
    name,
    classes: withQueues.filter(({ pool }) => pool === name),
    runners: (serving.get(name) ?? []).toSorted((a, b) => a.name.localeCompare(b.name)),
  }));
  return { pools, complete: rows.length <= MAX_RUNNERS };
}

/** Returns for which hardware of a runner predictions wait. It is read only if the runner is gone. */
export async function wantedOf(
  services: Services,
  runner: RunnerState,
  now: number,
): Promise<ReadonlySet<string>> {
  if (goneFor(runner, now) === undefined) return new Set();
  const { pool, hardware } = runner;
  const [found] = await findPools(services.db, [pool]);
  const pool_made_at = found?.made_at ?? null;
  const classes = hardware.map((identifier) => ({ identifier, pool, pool_made_at }));
  return wantedHardware(await readQueues(services, classes));
}

/**
 * @param by the id of the operator's account; null: the operator's token
 * @throws ProblemError not_found
 */
export async function drainRunner(
  services: Services,
  id: string,
  draining: boolean,
  by: string | null,
): Promise<RunnerState> {
  const { env, db } = services;
  const row = await findRunner(db, id);
  if (!row) throw unknownRunner(id);
  const action = draining ? "runner.drained" : "runner.resumed";
  await recordRead(services, { action, ...ofRunner(row) });
  const presence = await runnerAt(env, id).setDraining(draining, by);
  if (!presence) throw unknownRunner(id);
  const pool = await findMadePool(services, presence.pool);
  if (await pool?.refreshRunner(id, !draining)) await reportForgiven(services, id, by);
  const [runner] = await readStates(services, [row]);
  if (!runner) throw unknownRunner(id);
  return runner;
}

/**
 * Tells the runner's object that an operator resumed the runner. If the object does not answer, operators
 * only lack a line in its history.
 */
async function reportForgiven({ env }: Services, id: string, by: string | null): Promise<void> {
  const event = { at: Date.now(), kind: "forgiven" as const, detail: "", by: by ?? undefined };
  await withTimeout(runnerAt(env, id).reportEvents([event]), `runner ${id}`);
}

/**
 * Removes a runner that is offline or stopped. If it comes back, it registers as a new one.
 * @throws ProblemError not_found; conflict while it is online
 */
export async function removeRunner(services: Services, id: string): Promise<void> {
  const { env, db } = services;
  const row = await findRunner(db, id);
  if (!row) throw unknownRunner(id);
  const { seenSince } = await fleetContext(services);
  const isShutOut = row.revoked_at !== null;
  const presence = await runnerAt(env, id).remove(isShutOut ? Date.now() : seenSince);
  if (presence)
    throw conflict(
      `The runner '${presence.name}' is ${presence.state}. Drain it and stop its process first.`,
    );
  await (await findMadePool(services, row.pool))?.refreshRunner(id, true);
  // The row is deleted last: if this fails, the runner is still listed and can be removed again.
  await removeRow(db, id, auditEntry({ action: "runner.removed", ...ofRunner(row) }));
  runnerCache.forget(id);
}

/** The account and the target of an entry of the audit log about a runner. */
export const ofRunner = ({ id, name }: Pick<RunnerRow, "id" | "name">) => ({
  account_id: null,
  targets: [{ type: "runner", id, name }],
});

export const unknownRunner = (id: string) => notFound(`The runner '${id}'`);
