/** Webhooks: their configuration on create, and the log of deliveries. */
import { z } from "zod";
import { link, timestamp, uuid } from "./common.ts";

const predictionEventName = z.enum(["started", "output", "completed"]).meta({
  id: "PredictionEventName",
  description:
    "`started`: a runner started the prediction. `output`: there is new output; sent at most every 500 ms. `completed`: the prediction ended",
  example: "completed",
});
export type PredictionEventName = z.infer<typeof predictionEventName>;

export const BUDGET_EVENTS = ["budget.alert", "budget.exhausted"] as const;
const budgetEventName = z.enum(BUDGET_EVENTS);
export type BudgetEventName = z.infer<typeof budgetEventName>;

/** The events of an account, which its endpoints receive. */
export const webhookEventName = z
  .enum([...predictionEventName.options, ...budgetEventName.options])
  .meta({
    id: "WebhookEventName",
    description:
      "An event of a prediction, or of a budget that applies to it: `budget.alert` once in a window, when the share `alert_at` of the limit is spent, and `budget.exhausted`, when less is left than another such prediction needs to begin, with `budget.alert` before it in any case. Both have the prediction that crossed the line, and the `budget`",
    example: "completed",
  });
export type WebhookEventName = z.infer<typeof webhookEventName>;

/** Used if `events` is not set. */
export const DEFAULT_EVENTS: PredictionEventName[] = ["started", "completed"];

const webhookEvents = z
  .array(predictionEventName)
  .min(1)
  .max(3)
  .meta({ description: "Events to send" });

const endpointEvents = z
  .array(webhookEventName)
  .min(1)
  .max(webhookEventName.options.length)
  .meta({ description: "Events to send" });

/** A Standard Webhooks secret, or any ASCII text: libraries encode other characters differently. */
export const webhookSecret = z
  .string()
  .min(8)
  .max(256)
  .regex(/^[ -~]+$/, "only ASCII letters, digits, punctuation and spaces")
  .refine((text) => !text.startsWith("whsec_") || isKey(text.slice(6)), {
    error: "'whsec_' must be followed by at least 16 bytes in base64",
  })
  .meta({
    description:
      "Secret that signs deliveries: any ASCII text, or `whsec_` followed by a base64 key, as in Standard Webhooks. Never returned",
    // Includes the length: tools that generate examples from the pattern might never reach it otherwise.
    pattern: "^[ -~]{8,256}$",
    example: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  });

export const webhook = z
  .strictObject(
    {
      url: link.meta({
        description: "URL that receives events: https on a public host",
        example: "https://example.com/hook",
      }),
      secret: webhookSecret.optional(),
      events: webhookEvents.optional().meta({
        description: "Events to send; `started` and `completed` by default",
      }),
    },
    // Other services take just the URL.
    {
      error: ({ code }) =>
        code === "invalid_type"
          ? 'Input should be an object, such as {"url": "https://example.com/hook"}'
          : undefined,
    },
  )
  .meta({ id: "Webhook", description: "Where to send a prediction's events" });
export type Webhook = z.infer<typeof webhook>;

/** `evt_<prediction id>_<sequence>`: the same for every receiver and delivery. */
export const webhookEventId = z
  .string()
  .max(80)
  .toLowerCase()
  .regex(/^evt_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}_\d{1,15}$/, "the id of a webhook event")
  .meta({
    description: "ID of the event, the same for every receiver and delivery",
    example: "evt_01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e_7",
  });

export const deliveryAttempt = z
  .object({
    at: timestamp,
    status: z.int().nullable().meta({
      description: "HTTP status of the response; null if there was no response, or not yet",
      example: 200,
    }),
    duration_ms: z.int().nullable().meta({
      description: "Duration until the response or failure; null while in progress",
      example: 84,
    }),
    error: z.string().nullable().meta({
      description: "Why the attempt failed; null if it succeeded or is in progress",
      example: null,
    }),
    response: z.string().nullable().meta({
      description:
        "First 1,000 characters of the response, if it is text and arrived immediately. Only for the last three attempts, until the prediction's data is removed; otherwise null",
      example: "ok",
    }),
  })
  .meta({ id: "WebhookAttempt", description: "One delivery attempt" });
export type DeliveryAttempt = z.infer<typeof deliveryAttempt>;

export const deliveryState = z.enum(["pending", "delivered", "failed", "superseded"]).meta({
  description:
    "`pending`: in progress, or retried at `next_attempt_at`. `delivered`: the receiver responded with 2xx. `failed`: given up. `superseded`: replaced by a later event, which includes its data",
  example: "delivered",
});
export type DeliveryState = z.infer<typeof deliveryState>;

export const webhookDelivery = z
  .object({
    endpoint_id: uuid.nullable().meta({
      description: "Webhook endpoint of the account; null for the prediction's own webhook",
      example: null,
    }),
    url: z.string().nullable().meta({
      description: "Receiver URL without its query; null if the endpoint was deleted",
      example: "https://example.com/hook",
    }),
    state: deliveryState,
    next_attempt_at: timestamp.nullable().meta({
      description: "When the next attempt is due; null if none is planned or one is in progress",
      example: null,
    }),
    attempts: z.array(deliveryAttempt).meta({ description: "The last 50 attempts, oldest first" }),
  })
  .meta({ id: "WebhookDelivery", description: "Delivery of an event to one receiver" });
export type WebhookDelivery = z.infer<typeof webhookDelivery>;

export const webhookEvent = z
  .object({
    id: webhookEventId,
    event: webhookEventName,
    sequence: z.int().positive().meta({
      description: "ID of the last prediction event it includes. Increases with each webhook event",
      example: 7,
    }),
    created_at: timestamp,
    deliveries: z.array(webhookDelivery),
  })
  .meta({ id: "WebhookEvent", description: "A webhook event and its deliveries" });
export type WebhookEvent = z.infer<typeof webhookEvent>;

/** Whether it is base64 of a long enough key. */
function isKey(text: string): boolean {
  return z.base64().safeParse(text).success && (text.replace(/=+$/, "").length * 6) / 8 >= 16;
}

const url = link.meta({
  description: "URL that receives events: https on a public host",
  example: "https://example.com/hooks/auspex",
});
const description = z.string().max(200).meta({ example: "Production" });
const enabled = z.boolean().meta({ description: "`false` pauses deliveries", example: true });

export const endpointSecret = z
  .object({ id: uuid, created_at: timestamp })
  .meta({ id: "WebhookSecret", description: "A signing secret, without its value" });
export type EndpointSecret = z.infer<typeof endpointSecret>;

export const webhookEndpoint = z
  .object({
    id: uuid,
    url,
    description,
    events: endpointEvents,
    enabled,
    secrets: z
      .array(endpointSecret)
      .meta({ description: "All of them sign each delivery, so you can rotate them" }),
    failing_since: timestamp.nullable().meta({
      description: "When deliveries began to fail; null if the last one succeeded",
      example: null,
    }),
    last_error: z.string().nullable().meta({
      description:
        "Error of the first failed delivery since then, or of the last one that was given up",
      example: null,
    }),
    notice: z.string().nullable().meta({
      description: "Why the service disabled the endpoint, and what to do; null otherwise",
      example: null,
    }),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({
    id: "WebhookEndpoint",
    description: "Receives the events of all predictions of an account",
  });
export type WebhookEndpoint = z.infer<typeof webhookEndpoint>;

export const createWebhookEndpoint = z
  .strictObject({
    url,
    description: description.default(""),
    events: endpointEvents.default(DEFAULT_EVENTS),
    enabled: enabled.default(true),
  })
  .meta({
    id: "CreateWebhookEndpoint",
    example: { url: "https://example.com/hooks/auspex", events: ["completed"] },
  });
export type CreateWebhookEndpoint = z.infer<typeof createWebhookEndpoint>;

export const updateWebhookEndpoint = z
  .strictObject({ url, description, events: endpointEvents, enabled })
  .partial()
  .meta({ id: "UpdateWebhookEndpoint", example: { enabled: false } });
export type UpdateWebhookEndpoint = z.infer<typeof updateWebhookEndpoint>;

const secret = z.string().meta({
  description: "Shown only in this response",
  example: "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDFuT0DjrL5ao=",
});

/** The only responses that contain a secret. */
export const createdWebhookEndpoint = webhookEndpoint
  .extend({ secret })
  .meta({ id: "CreatedWebhookEndpoint" });
export const createdEndpointSecret = endpointSecret
  .extend({ secret })
  .meta({ id: "CreatedWebhookSecret" });

export const webhookTest = deliveryAttempt
  .extend({
    delivered: z.boolean().meta({ description: "Whether the response was 2xx", example: true }),
  })
  .meta({ id: "WebhookTest", description: "Result of a test delivery" });
export type WebhookTest = z.infer<typeof webhookTest>;
