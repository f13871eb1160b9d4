/** A pool tells D1 that it has been made: until then operators' pages do not ask it (services/runners/pools.ts). */
import type { Bindings } from "../../env.ts";
import { logger } from "../../log.ts";
import { database } from "../../storage/database.ts";
import { markPoolMade } from "../../storage/runners/pools.ts";
import { repeated } from "../repeated.ts";

/** At each start, which costs D1 one row read: if it fails, the next start makes up for it. */
export async function tellMade(env: Bindings, pool: string | undefined): Promise<void> {
  if (pool === undefined) return;
  await repeated(() => markPoolMade(database(env.DB), pool, Date.now())).catch((error) =>
    logger.warn("Pool not shown as made", { pool, error }),
  );
}
