/** Test deliveries: what an endpoint makes of a prediction that never was. */
import { v7 as uuid } from "uuid";
import { DecryptionFailed } from "../../domain/encryption.ts";
import { eventId } from "../../domain/webhooks/event-id.ts";
import { signedHeaders } from "../../domain/webhooks/signature.ts";
import { signingSecrets } from "../../domain/webhooks/stored-secret.ts";
import { ProblemError } from "../../errors.ts";
import { mayPost, PACE_SECONDS } from "../../outbound/pace.ts";
import { post } from "../../outbound/post.ts";
import type { WebhookTest } from "../../protocol/webhook-endpoint.ts";
import type { WebhookPayload } from "../../protocol/webhook-payload.ts";
import type { Caller } from "../accounts/caller.ts";
import type { Services } from "../services.ts";
import { readEndpoint } from "./endpoints.ts";

/**
 * Posted once and at once, also to an endpoint that is off; its health is none the worse for it.
 * @throws ProblemError not_found; unavailable when no key opens its secrets
 */
export async function testEndpoint(
  services: Services,
  caller: Caller,
  id: string,
  origin: string,
): Promise<WebhookTest> {
  const endpoint = await readEndpoint(services, caller, id);
  if (!(await mayPost(services.env, endpoint.url))) {
    throw new ProblemError(
      "too_many_requests",
      `The host of this endpoint is posted to very often just now. Wait ${PACE_SECONDS} seconds, then test it again.`,
      { "retry-after": String(PACE_SECONDS) },
    );
  }
  const { secretKeys, webhooks } = services.settings;
  const secrets = await signingSecrets(secretKeys, endpoint).catch(unopened);
  const at = Date.now();
  const payload = madeUp(origin, at);
  const body = JSON.stringify(payload);
  const headers = await signedHeaders({ id: payload.webhook.id, at, body }, secrets);
  const { status, error } = await post({ url: endpoint.url, headers, body }, webhooks);
  return {
    at: new Date(at).toISOString(),
    status,
    duration_ms: Date.now() - at,
    error,
    delivered: error === null,
  };
}

function unopened(error: unknown): never {
  if (!(error instanceof DecryptionFailed)) throw error;
  throw new ProblemError("unavailable", `A secret of it could not be opened: ${error.message}.`);
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
