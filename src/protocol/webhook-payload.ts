/** The body and headers of a webhook delivery. */
import { z } from "zod";
import { budgetFacts as budget } from "./budget.ts";
import { timestamp } from "./common.ts";
import { predictionWithIO } from "./prediction.ts";
import { webhookEventId, webhookEventName } from "./webhook.ts";

/** Headers of a delivery. The first three are those of Standard Webhooks. */
export const WEBHOOK_HEADERS = {
  id: "webhook-id",
  timestamp: "webhook-timestamp",
  signature: "webhook-signature",
  /** `t=<unix seconds>,v1=<hex HMAC-SHA256 of "t.body">`, with one `v1` for each secret. */
  plainSignature: "auspex-webhook-signature",
} as const;

/** The schema of the headers, for the OpenAPI document. */
export const webhookHeaders = z.object({
  [WEBHOOK_HEADERS.id]: webhookEventId,
  [WEBHOOK_HEADERS.timestamp]: z
    .string()
    .regex(/^\d{10,12}$/)
    .meta({ description: "When it was sent, in Unix seconds", example: "1795170030" }),
  [WEBHOOK_HEADERS.signature]: z.string().optional().meta({
    description: "`v1,<base64>` for each secret, separated by spaces; absent without a secret",
    example: "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
  }),
  [WEBHOOK_HEADERS.plainSignature]: z.string().optional().meta({
    description:
      "`t=<unix seconds>,v1=<hex>`, with a `v1` for each secret; absent without a secret",
    example: "t=1795170030,v1=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff536d0ce8e108d8bd",
  }),
});

export const webhookPayload = predictionWithIO
  .extend({
    data_omitted: z.boolean().meta({
      description:
        "Whether input or output is null here because it is larger than 1 MiB or was removed. Get it from `url` while it is kept",
      example: false,
    }),
    budget: budget.optional().meta({
      description:
        "Only in `budget.alert` and `budget.exhausted`: the budget, as it was after the prediction",
    }),
    webhook: z.object({
      id: webhookEventId.meta({
        description: "The same for every delivery of an event. Use it to ignore duplicates",
      }),
      event: z.union([webhookEventName, z.literal("test")]),
      sequence: z.int().nonnegative().meta({
        description:
          "Increases with each event of a prediction. GET `{url}/stream?after_id={sequence}` continues from there",
        example: 7,
      }),
      created_at: timestamp,
    }),
  })
  .meta({ id: "WebhookPayload", description: "The prediction at the time of the event" });
export type WebhookPayload = z.infer<typeof webhookPayload>;
