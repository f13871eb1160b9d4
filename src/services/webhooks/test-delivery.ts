/** Test deliveries to an endpoint, with a made-up prediction. */
import { DecryptionFailed } from "../../domain/encryption.ts";
import { presentCost } from "../../domain/money/cost.ts";
import { newPredictionUuid } from "../../domain/predictions/prediction-id.ts";
import { eventId } from "../../domain/webhooks/delivery-row.ts";
import { signedHeaders } from "../../domain/webhooks/signature.ts";
import { signingSecrets } from "../../domain/webhooks/stored-secret.ts";
import { ProblemError } from "../../errors/errors.ts";
import { HOST_LIMIT_SECONDS, mayPost, post } from "../../outbound/post.ts";
import type { WebhookTest } from "../../protocol/webhook.ts";
import type { WebhookPayload } from "../../protocol/webhook-payload.ts";
import type { Caller } from "../access/access.ts";
import type { Services } from "../services.ts";
import { readEndpoint } from "./endpoints.ts";

/**
 * Posts a test once, without retries, also to an endpoint that is switched off. It does not count for the
 * endpoint's health.
 * @throws ProblemError not_found; unavailable when its secrets cannot be decrypted
 */
export async function testEndpoint(
  services: Services,
  caller: Caller,
  id: string,
  origin: string,
): Promise<WebhookTest> {
  const endpoint = await readEndpoint(services, caller, id);
  if (!(await mayPost(services.env, endpoint.user_id, endpoint.url))) {
    throw new ProblemError(
      "too_many_requests",
      `Too many webhooks are sent to this endpoint's host. Wait ${HOST_LIMIT_SECONDS} seconds and try again.`,
      { "retry-after": String(HOST_LIMIT_SECONDS) },
    );
  }
  const { secretKeys, webhooks, currency } = services.settings;
  const secrets = await signingSecrets(secretKeys, endpoint).catch(notDecrypted);
  const at = Date.now();
  const payload = testPayload(origin, currency, at);
  const body = JSON.stringify(payload);
  const headers = await signedHeaders({ id: payload.webhook.id, at, body }, secrets);
  const {
    status,
    error,
    response = null,
  } = await post({ url: endpoint.url, headers, body, secrets }, webhooks);
  return {
    at: new Date(at).toISOString(),
    status,
    duration_ms: Date.now() - at,
    error,
    response,
    delivered: error === null,
  };
}

function notDecrypted(error: unknown): never {
  if (!(error instanceof DecryptionFailed)) throw error;
  throw new ProblemError(
    "unavailable",
    `A secret of the endpoint could not be decrypted: ${error.message}.`,
  );
}

/** A payload with all fields of a real one. */
function testPayload(origin: string, currency: string, now: number): WebhookPayload {
  const id = newPredictionUuid();
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
    cost: presentCost({ amount: 5_556, parts: [["time", 25, 800_000_000, 5_556]] }, currency),
    url: `${origin}/v1/predictions/${id}`,
    stream: false,
    created_by: null,
    input: { name: "you" },
    output: "Hello, you!",
    data_removed: false,
    data_omitted: false,
    webhook: { id: eventId(id, 0), event: "test", sequence: 0, created_at },
  };
}
