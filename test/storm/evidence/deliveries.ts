/** The webhooks that came, verified as a receiver does, with the package that is made for it. */
import { webhookPayload } from "../../../src/protocol/webhook-payload.ts";
import { verifyWebhook } from "../../../src/receiver/index.ts";
import type { Received } from "../../receiver/exchange.ts";
import { pathOf } from "../callers/webhook.ts";
import type { Delivery, History } from "../history.ts";

export async function deliveriesOf(received: Received[], { calls }: History): Promise<Delivery[]> {
  const byPath = new Map(calls.map((made) => [pathOf(made), made]));
  const deliveries: Delivery[] = [];
  for (const one of received) {
    const made = byPath.get(one.path);
    // Of a request whose connection was reset at its headers nobody has read the body.
    if (!made || one.body === "") continue;
    const verified = await verifyWebhook(one, made.secret, { now: one.at }).then(
      () => true as const,
      String,
    );
    const payload = webhookPayload.parse(JSON.parse(one.body));
    deliveries.push({ n: made.call.n, at: one.at, verified, payload });
  }
  return deliveries;
}
