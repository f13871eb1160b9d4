/** Deliveries of webhooks, verified as a receiver does, with the package for receivers. */
import { webhookPayload } from "../../../src/protocol/webhook-payload.ts";
import { verifyWebhook } from "../../../src/receiver/index.ts";
import type { Received } from "../../receiver/exchange.ts";
import { pathOf } from "../callers/webhook.ts";
import type { Delivery, History } from "../history.ts";

interface Destination {
  endpoint_id: string | null;
  secrets: readonly (string | undefined)[];
}

export async function deliveriesOf(
  received: Received[],
  { calls, endpoints }: History,
): Promise<Delivery[]> {
  const byPath = new Map<string, Destination>([
    ...calls.map((made) => [pathOf(made), { endpoint_id: null, secrets: [made.secret] }] as const),
    ...endpoints.map(({ id, path, secrets }) => [path, { endpoint_id: id, secrets }] as const),
  ]);
  const deliveries: Delivery[] = [];
  for (const one of received) {
    const destination = byPath.get(one.path);
    // The body is empty if the connection was reset after the request's headers.
    if (!destination || one.body === "") continue;
    const { endpoint_id, secrets } = destination;
    const verified = await verify(one, secrets).then(() => true as const, String);
    const payload = webhookPayload.parse(JSON.parse(one.body));
    deliveries.push({ endpoint_id, at: one.at, verified, payload });
  }
  return deliveries;
}

/** Verifies a delivery with each secret alone: a receiver may have only one of them. */
const verify = (one: Received, secrets: Destination["secrets"]) =>
  Promise.all(secrets.map((secret) => verifyWebhook(one, secret, { now: one.at })));
