/** The status of the deployment, of which each isolate asks the metrics object at most every 30 s. */
import { downReport } from "../domain/alerts/incidents.ts";
import type { Bindings } from "../env.ts";
import { metricsObject } from "../objects/stubs/metrics.ts";
import type { StatusReport } from "../protocol/status.ts";
import type { Services } from "./services.ts";
import { withTimeout } from "./with-timeout.ts";

/** How long a report is shown, and how long it may be cached. */
export const STATUS_SECONDS = 30;

const reports = new WeakMap<Bindings, { at: number; report: StatusReport }>();

export async function readStatus({ env }: Services): Promise<StatusReport> {
  const known = reports.get(env);
  const now = Date.now();
  if (known && now - known.at < STATUS_SECONDS * 1_000) return known.report;
  // While one request reads the report again, the others get the last one.
  if (known) known.at = now;
  const read = await withTimeout(metricsObject(env).status(), "metrics");
  const report = read ?? downReport(known?.report, now);
  reports.set(env, { at: now, report });
  return report;
}
