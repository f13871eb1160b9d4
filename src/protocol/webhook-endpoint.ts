/** Webhook endpoints of an account, which receive the events of all its predictions. */
import { z } from "zod";
import { link, timestamp, uuid } from "./common.ts";
import { DEFAULT_EVENTS, deliveryAttempt, webhookEvents } from "./webhook.ts";

const url = link.meta({
  description: "URL that receives events: https on a public host",
  example: "https://example.com/hooks/auspex",
});
const description = z.string().max(200).meta({ example: "Production" });
const enabled = z.boolean().meta({ description: "False: deliveries are paused", example: true });

export const endpointSecret = z
  .object({ id: uuid, created_at: timestamp })
  .meta({ id: "WebhookSecret", description: "A signing secret, without its value" });
export type EndpointSecret = z.infer<typeof endpointSecret>;

export const webhookEndpoint = z
  .object({
    id: uuid,
    url,
    description,
    events: webhookEvents,
    enabled,
    secrets: z
      .array(endpointSecret)
      .meta({ description: "Each delivery is signed with all of them, which allows rotation" }),
    failing_since: timestamp.nullable().meta({
      description: "Since when every delivery has failed; null if the last one succeeded",
      example: null,
    }),
    last_error: z.string().nullable().meta({
      description:
        "Error of the first failed delivery since then, or of the last one that was abandoned",
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
