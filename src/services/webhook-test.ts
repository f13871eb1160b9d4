/** Test deliveries: what an endpoint makes of a prediction that never was. */
import { v7 as uuid } from "uuid";
import { eventId } from "../domain/webhook/event-id.ts";
import { signedHeaders } from "../domain/webhook/signature.ts";
import { post } from "../outbound/post.ts";
import type { WebhookTest } from "../protocol/webhook-endpoint.ts";
import type { WebhookPayload } from "../protocol/webhook-payload.ts";
import type { Services } from "./services.ts";
import type { Caller } from "./tokens.ts";
import { readEndpoint } from "./webhook-endpoints.ts";

/**
 * Posted once and at once, also to an endpoint that is off; its health is none the worse for it.
 * @throws ProblemError not_found
 */
export async function testEndpoint(
  services: Services,
  caller: Caller,
  id: string,
  origin: string,
): Promise<WebhookTest> {
  const { url, secrets } = await readEndpoint(services, caller, id);
  const at = Date.now();
  const payload = madeUp(origin, at);
  const body = JSON.stringify(payload);
  const headers = await signedHeaders(
    { id: payload.webhook.id, at, body },
    secrets.map(({ secret }) => secret),
  );
  const { status, error } = await post({ url, headers, body }, services.settings.webhooks);
  return {
    at: new Date(at).toISOString(),
    status,
    duration_ms: Date.now() - at,
    error,
    delivered: error === null,
  };
}

/** All that a real one has, so that a receiver which can read this can read those. */
function madeUp(origin: string, now: number): WebhookPayload {
  const id = uuid();
  const created_at = new Date(now).toISOString();
  return {
    id,
    model: { owner: "demo", name: "hello", version_number: 1 },
    created_at,
    updated_at: created_at,
    status: "succeeded",
    setup_time: "0.412",
    execution_time: "0.025",
    error: null,
    metrics: null,
    url: `${origin}/v1/predictions/${id}`,
    stream: false,
    input: { name: "you" },
    output: "Hello, you!",
    data_removed: false,
    data_omitted: false,
    webhook: { id: eventId(id, 0), event: "test", sequence: 0, created_at },
  };
}
