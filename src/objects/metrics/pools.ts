/** The pools as the metrics object asks them. */
import type { PoolGauges } from "../../domain/metrics/gauges.ts";
import type { Bindings } from "../../env.ts";
import { logger } from "../../log.ts";
import { database } from "../../storage/database.ts";
import { listMadePools } from "../../storage/runners/pools.ts";
import { poolOf } from "../stubs/pool.ts";

/** A pool that takes longer has no gauges. */
const POOL_MS = 2_000;
const MAX_POOLS = 50;

/** Returns the gauges of the pools that answer. */
export async function readPools(env: Bindings): Promise<PoolGauges[]> {
  // Counters need no D1: without it, an exposition only has no gauges.
  const names = await listMadePools(database(env.DB), MAX_POOLS).catch((error) => {
    logger.warn("Pools not listed for metrics", { error });
    return [];
  });
  const asked = names.map(async (name) => {
    try {
      return [{ ...(await poolOf(env, name, { ms: POOL_MS }).gauges()), pool: name }];
    } catch (error) {
      logger.warn("Pool has no metrics", { pool: name, error });
      return [];
    }
  });
  return (await Promise.all(asked)).flat();
}
