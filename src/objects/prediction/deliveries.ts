/** What is shown of webhook deliveries: never signatures. */
import type { OutboxEvent } from "../../domain/webhooks/outbox.ts";
import type { PredictionRecord } from "./record.ts";
import type { EventDeliveries } from "./rpc-types.ts";
import { type FindValue, webhookBody } from "./webhook-body.ts";

export const deliveriesOf = (record: PredictionRecord): EventDeliveries[] =>
  (record.outbox?.events ?? []).map((event) => eventDeliveriesOf(record, event));

export const eventDeliveriesOf = (
  { life }: PredictionRecord,
  { sequence, event, at, deliveries }: OutboxEvent,
): EventDeliveries => ({
  sequence,
  event,
  at,
  deliveries,
  own_url: life.spec.webhook?.url ?? null,
});

/** What is posted of an event, with what is left of its data; undefined when there is no such event. */
export async function bodyOf(
  record: PredictionRecord,
  sequence: number,
  find: FindValue,
): Promise<string | undefined> {
  const event = record.outbox?.events.find((one) => one.sequence === sequence);
  return event && webhookBody(record, event, find);
}
