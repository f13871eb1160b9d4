/**
 * The pools for operators. The first call to an object makes it, near the caller, and it stays there. So
 * reading a pool that has never been used must not call its object.
 */
import { conflict, notFound, ProblemError } from "../../errors/errors.ts";
import { poolOf } from "../../objects/stubs/pool.ts";
import type { LocationHint } from "../../protocol/hardware.ts";
import { findAllHardware } from "../../storage/runners/hardware.ts";
import {
  findPools,
  listUnmadePools,
  markPoolMade,
  type PoolRow,
} from "../../storage/runners/pools.ts";
import type { RunnerCaller } from "../access/access.ts";
import type { Services } from "../services.ts";

const SWEPT = 20;

/** Returns the pool's object, if it has been used. */
export const poolIfMade = ({ env }: Services, name: string, madeAt: number | null | undefined) =>
  typeof madeAt === "number" ? poolOf(env, name) : undefined;

/** Returns the objects of several pools that have been used, by their names. */
export async function findMadePools(services: Services, names: string[]) {
  const found = await findPools(services.db, names);
  return found.flatMap(({ name, made_at }) => {
    const pool = poolIfMade(services, name, made_at);
    return pool ? [{ name, pool }] : [];
  });
}

export async function findMadePool(services: Services, name: string) {
  const [found] = await findMadePools(services, [name]);
  return found?.pool;
}

type Known = Omit<PoolRow, "name"> | undefined;

/**
 * Makes a pool at its location, if it is not made yet.
 * @returns when it was made, or null if it is not
 * @throws ProblemError conflict when it is somewhere else already
 */
export async function placePool(
  { env }: Services,
  name: string,
  known: Known,
  hint: LocationHint | null,
): Promise<number | null> {
  const madeAt = known?.made_at ?? null;
  if (madeAt !== null) {
    if (hint === known?.location_hint) return madeAt;
    throw conflict(
      `The pool '${name}' already has a queue, and a queue cannot be moved. Keep its location, or create a class with another pool.`,
    );
  }
  if (hint === null) return null;
  await poolOf(env, name, { locationHint: hint }).status();
  return Date.now();
}

/**
 * Makes the pools with a location that are not made yet, as after a restore. A pool tells D1 that it is made
 * when it starts, but that may have failed.
 */
export async function sweepPools(services: Services): Promise<void> {
  for (const row of await listUnmadePools(services.db, SWEPT)) {
    const madeAt = await placePool(services, row.name, row, row.location_hint);
    if (madeAt !== null) await markPoolMade(services.db, row.name, madeAt);
  }
}

/** @throws ProblemError forbidden */
export function requireHardware({ hardware }: RunnerCaller, identifier: string): void {
  if (hardware.includes(identifier)) return;
  throw new ProblemError(
    "forbidden",
    `This runner token is for ${hardware.join(", ")}, not for '${identifier}'.`,
  );
}

/**
 * Returns the pool of the classes. A machine in two pools would be booked twice.
 * @throws ProblemError forbidden, not_found; conflict for classes of several pools
 */
export async function readServedPool(
  { db }: Services,
  caller: RunnerCaller,
  identifiers: string[],
): Promise<string> {
  for (const identifier of identifiers) requireHardware(caller, identifier);
  const found = await findAllHardware(db, identifiers);
  const unknown = identifiers.find((one) => !found.some(({ identifier }) => identifier === one));
  if (unknown !== undefined) throw notFound(`The hardware '${unknown}'`);
  const [pool = "", ...others] = new Set(found.map((one) => one.pool));
  if (others.length === 0) return pool;
  const places = found.map((one) => `'${one.identifier}' in '${one.pool}'`).join(", ");
  throw conflict(
    `A runner can only serve hardware classes of one pool. These are in several: ${places}. Use classes of one pool, or ask an operator to put them in one pool.`,
  );
}
