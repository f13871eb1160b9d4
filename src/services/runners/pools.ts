/**
 * Pools as operators reach them. An object is made by the first call to it, near whoever made that call,
 * and stays there for good. So a look at a class that nobody has used yet must not reach its pool.
 */
import { conflict } from "../../errors.ts";
import { poolOf } from "../../objects/pool/stub.ts";
import type { LocationHint } from "../../protocol/hardware.ts";
import {
  findHardware,
  type HardwareRow,
  listUnplacedHardware,
  markPoolMade,
} from "../../storage/runners/hardware.ts";
import type { Services } from "../services.ts";

/** Of one sweep. */
const SWEPT = 20;

type Placed = Pick<HardwareRow, "identifier" | "pool_made_at">;

/** The pool of a class, if it has been used. One whose class was deleted has been. */
export const poolIfMade = ({ env }: Services, identifier: string, row: Placed | undefined) =>
  row?.pool_made_at === null ? undefined : poolOf(env, identifier);

/** The same, by the class's identifier alone. */
export const findMadePool = async (services: Services, identifier: string) =>
  poolIfMade(services, identifier, await findHardware(services.db, identifier));

/**
 * Makes the pool where it is wanted, if it is not made yet.
 * @param row the class, if there is one
 * @returns when it was made, or null if it is not
 * @throws ProblemError conflict when it is somewhere else already
 */
export async function placePool(
  { env }: Services,
  identifier: string,
  row: Pick<HardwareRow, "pool_made_at" | "location_hint"> | undefined,
  hint: LocationHint | null,
): Promise<number | null> {
  const madeAt = row?.pool_made_at ?? null;
  if (madeAt !== null) {
    if (hint === row?.location_hint) return madeAt;
    throw conflict(
      `The queue of '${identifier}' exists already, and a queue cannot be moved. Keep its location, or create another class.`,
    );
  }
  if (hint === null) return null;
  await poolOf(env, identifier, { locationHint: hint }).status();
  return Date.now();
}

/**
 * Those whose class has a location but that are not there yet, as after a restore. A pool tells D1 that it
 * is made when it starts, but that may have failed.
 */
export async function sweepPools(services: Services): Promise<void> {
  for (const row of await listUnplacedHardware(services.db, SWEPT)) {
    const madeAt = await placePool(services, row.identifier, row, row.location_hint);
    if (madeAt !== null) await markPoolMade(services.db, row.identifier, madeAt);
  }
}
