/** Webhooks: what a create asks for, and the ledger of what was delivered. */
import { z } from "zod";
import { link, timestamp, uuid } from "./common.ts";

export const webhookEventName = z.enum(["started", "output", "completed"]).meta({
  id: "WebhookEventName",
  description:
    "`started`: a runner has it. `output`: there is more of the output, told every 500 ms at most. `completed`: it has ended",
  example: "completed",
});
export type WebhookEventName = z.infer<typeof webhookEventName>;

/** What is told of when nobody has chosen. */
export const DEFAULT_EVENTS: WebhookEventName[] = ["started", "completed"];

export const webhookEvents = z
  .array(webhookEventName)
  .min(1)
  .max(3)
  .meta({ description: "What is posted" });

/** Of the form of Standard Webhooks, or any text of ASCII: libraries differ over the bytes of others. */
export const webhookSecret = z
  .string()
  .min(8)
  .max(256)
  .regex(/^[ -~]+$/, "letters, digits, signs and spaces of ASCII only: no accents, no line breaks")
  .refine((text) => !text.startsWith("whsec_") || isKey(text.slice(6)), {
    error: "after 'whsec_' come 16 bytes or more in base64",
  })
  .meta({
    description:
      "Signs what is posted, and is never shown again: the longer, the safer. Any text of ASCII, or `whsec_` and the base64 of the key, as Standard Webhooks have it",
    // The length once more: programs that make texts of a pattern try for ever to meet another one.
    pattern: "^[ -~]{8,256}$",
    example: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  });

export const webhook = z
  .strictObject(
    {
      url: link.meta({
        description: "Where updates are posted: https, and a public address",
        example: "https://example.com/hook",
      }),
      secret: webhookSecret.optional(),
      events: webhookEvents.optional().meta({
        description: "What to post; `started` and `completed` when it is left out",
      }),
    },
    // Elsewhere it is the address alone.
    {
      error: ({ code }) =>
        code === "invalid_type"
          ? 'Input should be an object, as in {"url": "https://example.com/hook"}'
          : undefined,
    },
  )
  .meta({ id: "Webhook", description: "Who is told what becomes of a prediction" });
export type Webhook = z.infer<typeof webhook>;

/** `evt_`, the prediction's id, `_`, the sequence: the same for each receiver, and each time. */
export const webhookEventId = z
  .string()
  .max(80)
  .regex(/^evt_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}_\d{1,15}$/, "the id of an event")
  .meta({
    description: "Names the event, wherever and however often it is delivered",
    example: "evt_01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e_7",
  });

export const deliveryAttempt = z
  .object({
    at: timestamp,
    status: z.int().nullable().meta({
      description: "The HTTP status of the answer; null when there was none, or is none yet",
      example: 200,
    }),
    duration_ms: z.int().nullable().meta({
      description: "Until the answer, or until there was none; null while it is under way",
      example: 84,
    }),
    error: z.string().nullable().meta({
      description: "Why it does not count as delivered; null when it does, or is under way",
      example: null,
    }),
  })
  .meta({ id: "WebhookAttempt", description: "One try to deliver an event" });
export type DeliveryAttempt = z.infer<typeof deliveryAttempt>;

export const deliveryState = z.enum(["pending", "delivered", "failed", "superseded"]).meta({
  description:
    "`pending`: under way, or tried again at `next_attempt_at`. `delivered`: the receiver has answered 2xx. `failed`: given up. `superseded`: a later event has all that this one had",
  example: "delivered",
});
export type DeliveryState = z.infer<typeof deliveryState>;

export const webhookDelivery = z
  .object({
    endpoint_id: uuid.nullable().meta({
      description: "The account's endpoint; null for the prediction's own webhook",
      example: null,
    }),
    url: z.string().nullable().meta({
      description: "Where it goes, without the query; null when the endpoint is deleted",
      example: "https://example.com/hook",
    }),
    state: deliveryState,
    next_attempt_at: timestamp.nullable().meta({
      description: "When it is tried next; null when it is not, or is being tried",
      example: null,
    }),
    attempts: z.array(deliveryAttempt).meta({ description: "The last 50, oldest first" }),
  })
  .meta({ id: "WebhookDelivery", description: "What became of an event at one receiver" });
export type WebhookDelivery = z.infer<typeof webhookDelivery>;

export const webhookEvent = z
  .object({
    id: webhookEventId,
    event: webhookEventName,
    sequence: z.int().positive().meta({
      description: "The last event of the prediction's log that it includes: it only rises",
      example: 7,
    }),
    created_at: timestamp,
    deliveries: z.array(webhookDelivery),
  })
  .meta({ id: "WebhookEvent", description: "An event, and what became of it at each receiver" });
export type WebhookEvent = z.infer<typeof webhookEvent>;

/** Whether it is base64 of a key that is long enough. */
function isKey(text: string): boolean {
  return z.base64().safeParse(text).success && (text.replace(/=+$/, "").length * 6) / 8 >= 16;
}
