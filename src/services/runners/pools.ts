/**
 * The pools for operators. The first call to an object makes it, near the caller, and it stays there. So
 * reading a pool that has never been used must not call its object.
 */
import { conflict } from "../../errors/errors.ts";
import { poolOf } from "../../objects/pool/stub.ts";
import type { LocationHint } from "../../protocol/hardware.ts";
import {
  findPools,
  listUnplacedPools,
  markPoolMade,
  type PoolRow,
} from "../../storage/runners/pools.ts";
import type { Services } from "../services.ts";

/** The pools of one sweep. */
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

/** Returns the object of a pool that has been used, by its name. */
export async function findMadePool(services: Services, name: string) {
  const [found] = await findMadePools(services, [name]);
  return found?.pool;
}

/** The columns of a pool that may have a row. */
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
      `The queue of the pool '${name}' exists already, and a queue cannot be moved. Keep its location, or create a class with another pool.`,
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
  for (const row of await listUnplacedPools(services.db, SWEPT)) {
    const madeAt = await placePool(services, row.name, row, row.location_hint);
    if (madeAt !== null) await markPoolMade(services.db, row.name, madeAt);
  }
}
