/** /v1/predictions/{id}/webhooks: webhook deliveries, and redelivering events. */
import { createRoute, z } from "@hono/zod-openapi";
import { requireScope, requireScopeToPredict } from "../../middleware/authentication.ts";
import { pageOf } from "../../protocol/common.ts";
import { onePrediction } from "../../protocol/prediction.ts";
import { type WebhookEvent, webhookEvent, webhookEventId } from "../../protocol/webhook.ts";
import { webhookHeaders, webhookPayload } from "../../protocol/webhook-payload.ts";
import { listWebhooks, redeliver } from "../../services/webhooks/deliveries.ts";
import { errorResponses, jsonBody, jsonResponse } from "../responses.ts";
import { router } from "../router.ts";

const tags = ["Webhooks"];

/** The name of the prediction's own webhook, in place of an endpoint's id. */
export const OWN_WEBHOOK = "prediction";

const list = createRoute({
  method: "get",
  path: "/predictions/{prediction_id}/webhooks",
  operationId: "listWebhooks",
  tags,
  summary: "List a prediction's webhook events",
  description:
    "Lists `started`, `completed` and the last 100 `output` events, oldest first, with the delivery attempts to each receiver. All events are on one page, and are kept as long as the prediction's data. Requires the scope `read` or `predict`.",
  middleware: requireScope("read", "predict"),
  request: { params: onePrediction },
  responses: { 200: jsonResponse("The events", pageOf(webhookEvent)), ...errorResponses },
});

const again = createRoute({
  method: "post",
  path: "/predictions/{prediction_id}/webhooks/{event_id}/redeliver",
  operationId: "redeliverWebhook",
  tags,
  summary: "Redeliver a webhook event",
  description:
    "Delivers an event again immediately, with all retries. It has the same `webhook-id`, so receivers can ignore duplicates. Counts toward the rate limit for creating predictions. Requires the scope `predict`.",
  middleware: requireScopeToPredict,
  request: {
    params: onePrediction.extend({ event_id: webhookEventId }),
    query: z.strictObject({
      receiver: z
        .union([
          z.literal(OWN_WEBHOOK),
          z.uuid(`Input should be the id of an endpoint, or '${OWN_WEBHOOK}'`).toLowerCase(),
        ])
        .optional()
        .meta({
          description:
            "The receiver: the ID of an endpoint, or `prediction` for the prediction's own webhook. By default, all receivers of the event",
          example: OWN_WEBHOOK,
        }),
    }),
  },
  responses: {
    202: jsonResponse("The event, which is being delivered", webhookEvent),
    ...errorResponses,
  },
});

export const webhookRoutes = router();

webhookRoutes.openAPIRegistry.registerWebhook({
  method: "post",
  path: "prediction",
  operationId: "predictionWebhook",
  tags,
  summary: "Webhook delivery",
  description:
    "Sent when a prediction starts, has new output or finishes. Respond with any 2xx within 10 s. A 410 stops deliveries; everything else is retried.",
  request: { headers: webhookHeaders, body: jsonBody(webhookPayload) },
  responses: {
    "2XX": { description: "Delivered" },
    410: { description: "Stops deliveries" },
  },
});

webhookRoutes.openapi(list, async (c) => {
  const { services, caller } = c.var;
  return c.json(await listWebhooks(services, caller, c.req.valid("param").prediction_id), 200);
});

webhookRoutes.openapi(again, async (c) => {
  const { services, caller } = c.var;
  const { prediction_id, event_id } = c.req.valid("param");
  const { receiver } = c.req.valid("query");
  const endpointId = receiver === OWN_WEBHOOK ? null : receiver;
  const event: WebhookEvent = await redeliver(
    services,
    caller,
    prediction_id,
    event_id,
    endpointId,
  );
  return c.json(event, 202);
});
