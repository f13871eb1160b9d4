/** The status of the deployment: two calls to D1, and the gauges of the pools. */
import { type ClassState, downReport, statusReport } from "../../domain/alerts/incidents.ts";
import type { PoolGauges } from "../../domain/metrics/gauges.ts";
import type { Bindings } from "../../env.ts";
import { logger } from "../../log.ts";
import type { StatusReport } from "../../protocol/status.ts";
import { listIncidents } from "../../storage/alerts/incidents.ts";
import { database } from "../../storage/database.ts";
import { type HardwareRow, listHardware } from "../../storage/runners/hardware.ts";
import { readPools } from "./pools.ts";

const MAX_CLASSES = 100;

/** @param last the report before, of which incidents are shown while D1 does not answer */
export async function readStatus(
  env: Bindings,
  last: StatusReport | undefined,
): Promise<StatusReport> {
  const db = database(env.DB);
  const now = Date.now();
  try {
    const [classes, rows, gauges] = await Promise.all([
      listHardware(db, { from: undefined, back: false, limit: MAX_CLASSES }),
      listIncidents(db, now),
      readPools(env),
    ]);
    const gaugesOf = new Map(gauges.map((one) => [one.pool, one]));
    const states = classes.map((row) => stateOf(row, gaugesOf.get(row.pool)));
    return statusReport(states, rows, now);
  } catch (error) {
    logger.error("Status not read", { error });
    return downReport(last, now);
  }
}

/** @param gauges undefined: the pool has not answered, or it was never used */
function stateOf(
  { identifier, name, pool_made_at }: HardwareRow,
  gauges: PoolGauges | undefined,
): ClassState {
  const of = (state: ClassState["state"]): ClassState => ({ identifier, name, state });
  if (!gauges) return of(pool_made_at === null ? "no_runners" : "unknown");
  const served = gauges.classes.find((one) => one.class === identifier);
  if (!served) return of("no_runners");
  return of(served.has_free_slot ? "operational" : "busy");
}
