/** What is posted to the receiver of a webhook. */
import { z } from "zod";
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

/** The same, as the document has them. */
export const webhookHeaders = z.object({
  [WEBHOOK_HEADERS.id]: webhookEventId,
  [WEBHOOK_HEADERS.timestamp]: z
    .string()
    .regex(/^\d{10,12}$/)
    .meta({ description: "When it was posted, unix seconds", example: "1795170030" }),
  [WEBHOOK_HEADERS.signature]: z.string().optional().meta({
    description: "`v1,<base64>` for each secret, with a space between; absent without a secret",
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
        "True when input or output is over 1 MiB, or removed, and therefore null here: GET `url` has it while it is kept",
      example: false,
    }),
    webhook: z.object({
      id: webhookEventId.meta({
        description: "The same whenever it is posted: drop repeats by it",
      }),
      event: z.union([webhookEventName, z.literal("test")]),
      sequence: z.int().nonnegative().meta({
        description:
          "Orders the events of one prediction: it only rises. GET `url`/stream?after_id=<sequence> goes on from here",
        example: 7,
      }),
      created_at: timestamp,
    }),
  })
  .meta({ id: "WebhookPayload", description: "The prediction as it was when the event happened" });
export type WebhookPayload = z.infer<typeof webhookPayload>;
