/** Removal of all that the accounts have: anything that is still there then belongs to nobody. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../../../src/dev/client.ts";
import { webhookPayload } from "../../../src/protocol/webhook-payload.ts";
import { verifyWebhook } from "../../../src/receiver/index.ts";
import type { Received } from "../../receiver/exchange.ts";
import type { Bed } from "../bed.ts";
import { pathOf } from "../callers/create.ts";
import type { Delivery, History } from "../history.ts";
import { exportOf, rowsOf } from "./list.ts";

/** The time after which uploads that nobody completed are swept: UPLOAD_HOURS and an hour, ms. */
const UPLOADS_MS = 25 * 3_600_000;
/** The time of removals in the background, ms. */
const SETTLE_MS = 3_000;

export async function removeAll({ clients, deployment }: Bed): Promise<void> {
  for (const client of Object.values(clients)) {
    for (const { id } of await rowsOf(client)) await remove(client, `/predictions/${id}`);
    for (const line of await exportOf(client)) {
      if (line.type === "upload" && line.upload.status === "completed")
        await remove(client, `/uploads/${line.upload.id}`);
    }
  }
  await deployment.scheduled(new Date(Date.now() + UPLOADS_MS));
  await sleep(SETTLE_MS);
}

/** Removes a resource. Predictions that run are refused, which a promise reports by itself. */
const remove = async (client: Client, path: string): Promise<void> =>
  void (await (await client.fetch("DELETE", path)).text());

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
