/** The only way to pool objects. */
import type { Bindings } from "../../env.ts";
import { logger } from "../../log.ts";
import type { LocationHint } from "../../protocol/hardware.ts";
import { database } from "../../storage/database.ts";
import { markPoolMade } from "../../storage/runners/pools.ts";
import { ANSWER_MS, bounded, repeated } from "../bounded.ts";
import { inJurisdiction } from "../jurisdiction.ts";
import { POLL_SECONDS, type PoolClaim } from "./rpc-types.ts";

interface PoolOptions {
  /** How long the pool may take to answer. */
  ms?: number;
  /** The place of the pool, if this call makes it. */
  locationHint?: LocationHint;
}

/**
 * Returns the stub of a pool. The first call makes the pool, and it stays there: operators' pages ask
 * `poolIfMade`.
 */
export function poolOf(env: Bindings, pool: string, { ms, locationHint }: PoolOptions = {}) {
  const place = locationHint && { locationHint };
  return bounded(() => inJurisdiction(env, env.POOL).getByName(pool, place), {
    ms,
    // An offer is not repeatable: the runner that was handed the job has it.
    repeatable: [
      "enqueue",
      "withdraw",
      "removeRunner",
      "refreshRunner",
      "reportMissed",
      "reportDismissed",
      "suspendedRunners",
      "conditions",
      "runner",
      "holders",
      "runEstimate",
      "waitOf",
      "status",
      "explain",
      "report",
      "askForLog",
      "log",
      // A log that is sent twice is dropped the second time.
      "takeLog",
    ],
  });
}

/**
 * A long poll. A poll that its pool's end has broken off is repeated: a job that it may have been handed by
 * then goes to another runner, since this one does not connect.
 * @param signal aborts when the runner disconnects, so that no job is handed to nobody
 * @returns a ClaimResponse; 409 when a later session of the same runner has taken over, 404 when the runner
 * has no such session in this pool, 429 when it reports more than the pool has room for
 */
export async function claimJobs(
  env: Bindings,
  claim: PoolClaim,
  signal: AbortSignal,
): Promise<Response> {
  const body = JSON.stringify(claim);
  return repeated(() => {
    const pool = poolOf(env, claim.pool, { ms: POLL_SECONDS * 1_000 + ANSWER_MS });
    return pool.fetch("https://pool/claim", { method: "POST", body, signal });
  }, signal);
}

/**
 * Registration of a pool in D1 once it has been made: until then operators' pages do not ask it
 * (services/runners/pools.ts).
 */

/**
 * Registers the pool at each start, which costs D1 one row read: the next start makes up for one that fails.
 */
export async function registerPool(env: Bindings, pool: string | undefined): Promise<void> {
  if (pool === undefined) return;
  await repeated(() => markPoolMade(database(env.DB), pool, Date.now())).catch((error) =>
    logger.warn("Pool not shown as made", { pool, error }),
  );
}
