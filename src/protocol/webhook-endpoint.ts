/** Endpoints of an account: receivers of the events of all its predictions. */
import { z } from "zod";
import { link, timestamp, uuid } from "./common.ts";
import { DEFAULT_EVENTS, deliveryAttempt, webhookEvents } from "./webhook.ts";

const url = link.meta({
  description: "Where events are posted: https, and a public address",
  example: "https://example.com/hooks/auspex",
});
const description = z.string().max(200).meta({ example: "Production" });
const enabled = z
  .boolean()
  .meta({ description: "False: nothing is posted to it for now", example: true });

export const endpointSecret = z
  .object({ id: uuid, created_at: timestamp })
  .meta({ id: "WebhookSecret", description: "A secret that signs; it is not shown again" });
export type EndpointSecret = z.infer<typeof endpointSecret>;

export const webhookEndpoint = z
  .object({
    id: uuid,
    url,
    description,
    events: webhookEvents,
    enabled,
    secrets: z.array(endpointSecret).meta({ description: "Each of them signs: for rotation" }),
    failing_since: timestamp.nullable().meta({
      description: "Since when every delivery has failed; null while they arrive",
      example: null,
    }),
    last_error: z.string().nullable().meta({
      description: "What the first of these, or the last that was given up, met",
      example: null,
    }),
    notice: z.string().nullable().meta({
      description: "Why it was switched off by the service, and what to do; else null",
      example: null,
    }),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: "WebhookEndpoint", description: "A receiver of all events of an account" });
export type WebhookEndpoint = z.infer<typeof webhookEndpoint>;

export const createWebhookEndpoint = z
  .strictObject({
    url,
    description: description.default(""),
    events: webhookEvents.default(DEFAULT_EVENTS),
    enabled: enabled.default(true),
  })
  .meta({
    id: "CreateWebhookEndpoint",
    example: { url: "https://example.com/hooks/auspex", events: ["completed"] },
  });
export type CreateWebhookEndpoint = z.infer<typeof createWebhookEndpoint>;

export const updateWebhookEndpoint = z
  .strictObject({ url, description, events: webhookEvents, enabled })
  .partial()
  .meta({ id: "UpdateWebhookEndpoint", example: { enabled: false } });
export type UpdateWebhookEndpoint = z.infer<typeof updateWebhookEndpoint>;

const secret = z.string().meta({
  description: "Shown here and never again",
  example: "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDFuT0DjrL5ao=",
});

/** The only answers that a secret is ever in. */
export const createdWebhookEndpoint = webhookEndpoint
  .extend({ secret })
  .meta({ id: "CreatedWebhookEndpoint" });
export const createdEndpointSecret = endpointSecret
  .extend({ secret })
  .meta({ id: "CreatedWebhookSecret" });

export const webhookTest = deliveryAttempt
  .extend({
    delivered: z.boolean().meta({ description: "Whether the answer was 2xx", example: true }),
  })
  .meta({ id: "WebhookTest", description: "What became of a test delivery" });
export type WebhookTest = z.infer<typeof webhookTest>;
