/** /v1/predictions/{id}/webhooks: what was delivered, and delivering it again. */
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

/** Instead of an endpoint's id: the webhook of the prediction itself. */
export const OWN_WEBHOOK = "prediction";

const list = createRoute({
  method: "get",
  path: "/predictions/{prediction_id}/webhooks",
  operationId: "listWebhooks",
  tags,
  summary: "List the webhook events of a prediction",
  description:
    "The ledger: each event, oldest first, and each try to deliver it to each receiver. `started`, `completed` and the last 100 of `output`, for as long as the data of the prediction is kept. One page has all of it. Needs the scope `read` or `predict`.",
  middleware: requireScope("read", "predict"),
  request: { params: onePrediction },
  responses: { 200: jsonResponse("The events", pageOf(webhookEvent)), ...errorResponses },
});

const again = createRoute({
  method: "post",
  path: "/predictions/{prediction_id}/webhooks/{event_id}/redeliver",
  operationId: "redeliverWebhook",
  tags,
  summary: "Deliver a webhook event once more",
  description:
    "At once, and with all its tries, whatever became of it before. It has the same `webhook-id`, so that a receiver that has seen it can drop it. Counts as creating a prediction. Needs the scope `predict`.",
  middleware: requireScopeToPredict,
  request: {
    params: onePrediction.extend({ event_id: webhookEventId }),
    query: z.object({
      receiver: z
        .union([
          z.literal(OWN_WEBHOOK),
          z.uuid(`Input should be the id of an endpoint, or '${OWN_WEBHOOK}'`),
        ])
        .optional()
        .meta({
          description:
            "Only to this one: the id of an endpoint, or `prediction` for the prediction's own webhook. Left out: to all that the event is for",
          example: OWN_WEBHOOK,
        }),
    }),
  },
  responses: { 202: jsonResponse("It is on its way", webhookEvent), ...errorResponses },
});

export const webhookRoutes = router();

webhookRoutes.openAPIRegistry.registerWebhook({
  method: "post",
  path: "prediction",
  operationId: "predictionWebhook",
  tags,
  summary: "What is posted to the receiver of a webhook",
  description:
    "When a prediction has started, has more output, or has ended. Any 2xx within 10 s is a delivery; 410 ends them; everything else is tried again.",
  request: { headers: webhookHeaders, body: jsonBody(webhookPayload) },
  responses: {
    "2XX": { description: "It is delivered" },
    410: { description: "The receiver wants no more" },
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
