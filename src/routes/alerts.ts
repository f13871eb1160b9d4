/** /v1/operator/alerts: what needs an operator. */
import { createRoute, z } from "@hono/zod-openapi";
import { requireOperator } from "../middleware/authentication.ts";
import { alert, silenceAlert as silenceBody } from "../protocol/alert.ts";
import { pageOf, uuid } from "../protocol/common.ts";
import { listAlerts, silenceAlert } from "../services/alerts/alerts.ts";
import { onePage } from "../services/pagination.ts";
import { errorResponses, jsonBody, jsonResponse } from "./responses.ts";
import { router } from "./router.ts";

const operators = { tags: ["Operator"], middleware: requireOperator };

const list = createRoute({
  ...operators,
  method: "get",
  path: "/operator/alerts",
  operationId: "listAlerts",
  summary: "List alerts",
  description: "Lists the alerts that hold, and then the last 100 that have ended, on one page.",
  responses: { 200: jsonResponse("Newest first", pageOf(alert)), ...errorResponses },
});

const silence = createRoute({
  ...operators,
  method: "post",
  path: "/operator/alerts/{alert_id}/silence",
  operationId: "silenceAlert",
  summary: "Silence an alert",
  description:
    "Until then, no messages are sent about it, except one that it has ended. The silence goes on if the alert ends and begins again. `hours: 0` ends it. Returns 404 for an alert that has ended.",
  request: { params: z.object({ alert_id: uuid }), body: jsonBody(silenceBody) },
  responses: { 200: jsonResponse("The alert", alert), ...errorResponses },
});

export const alertRoutes = router()
  .openapi(list, async (c) => c.json(onePage(await listAlerts(c.var.services)), 200))
  .openapi(silence, async (c) => {
    const { alert_id } = c.req.valid("param");
    return c.json(await silenceAlert(c.var.services, alert_id, c.req.valid("json").hours), 200);
  });
