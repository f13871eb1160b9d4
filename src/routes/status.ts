/** /v1/status: whether the deployment works, for people who run models. */
import { createRoute } from "@hono/zod-openapi";
import { requireStatusReader } from "../middleware/status-access.ts";
import { statusReport } from "../protocol/status.ts";
import { readStatus, STATUS_SECONDS } from "../services/status.ts";
import { errorResponses, jsonResponse } from "./responses.ts";
import { router } from "./router.ts";

const get = createRoute({
  method: "get",
  path: "/status",
  operationId: "getStatus",
  tags: ["Operator"],
  middleware: requireStatusReader,
  summary: "Get the status",
  description:
    "Returns whether the control plane and each hardware class work, and the incidents of the last 90 days. For operators, unless the deployment has set STATUS to `public`: then nobody needs a token, and the response may be cached for 30 seconds.",
  responses: { 200: jsonResponse("The status", statusReport), ...errorResponses },
});

export const statusRoutes = router().openapi(get, async (c) => {
  const { services } = c.var;
  if (services.settings.alerts.isStatusPublic)
    c.header("cache-control", `public, max-age=${STATUS_SECONDS}`);
  return c.json(await readStatus(services), 200);
});
