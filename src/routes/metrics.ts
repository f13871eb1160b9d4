/** /metrics: the deployment in numbers, for Prometheus and other collectors. */
import { OPENMETRICS } from "../lib/openmetrics.ts";
import { requireMetrics } from "../middleware/authentication.ts";
import { readMetrics } from "../services/metrics.ts";
import { router } from "./router.ts";

export const metricsRoutes = router().get("/metrics", requireMetrics, async (c) =>
  c.body(await readMetrics(c.var.services), 200, { "content-type": OPENMETRICS }),
);
