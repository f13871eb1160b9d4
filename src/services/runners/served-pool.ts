/** The hardware that a runner may serve: classes that its token covers, all of one pool. */
import { conflict, notFound, ProblemError } from "../../errors/errors.ts";
import { findAllHardware } from "../../storage/runners/hardware.ts";
import type { RunnerCaller } from "../accounts/caller.ts";
import type { Services } from "../services.ts";

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
    `A runner serves hardware of one pool, and these stand in several: ${places}. Start it with classes of one, or have an operator put them into one pool.`,
  );
}
