/** The ledger of a prediction's webhooks, read by the prediction's owner. */
import { vi } from "vitest";
import type { Client } from "../../../src/dev/client.ts";
import { pageOf } from "../../../src/protocol/common.ts";
import {
  type WebhookDelivery,
  type WebhookEvent,
  type WebhookEventName,
  webhookEvent,
} from "../../../src/protocol/webhook.ts";

const page = pageOf(webhookEvent);

async function ledgerOf(client: Client, id: string): Promise<WebhookEvent[]> {
  return (await client.call(page, "GET", `/predictions/${id}/webhooks`)).items;
}

/** Longer than any ledger takes, ms. */
const LEDGER_MS = 60_000;

/** Waits for a ledger that passes `check`. */
export function ledgerWith(
  client: Client,
  id: string,
  check: (events: WebhookEvent[]) => void,
  timeout = LEDGER_MS,
): Promise<WebhookEvent[]> {
  const read = async () => {
    const events = await ledgerOf(client, id);
    check(events);
    return events;
  };
  return vi.waitFor(read, { timeout, interval: 100 });
}

/**
 * Returns an event of the ledger with its delivery to one receiver: the prediction's own webhook by default.
 */
export function deliveryIn(
  events: WebhookEvent[],
  name: WebhookEventName,
  endpointId: string | null = null,
): { event: WebhookEvent; delivery: WebhookDelivery } {
  const event = events.find((one) => one.event === name);
  const delivery = event?.deliveries.find(({ endpoint_id }) => endpoint_id === endpointId);
  if (!event || !delivery) throw new Error(`no ${name} in ${JSON.stringify(events)}`);
  return { event, delivery };
}
