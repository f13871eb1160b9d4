/** What the API lists of webhook deliveries: neither bodies nor signatures. */
import type { OutboxEvent } from "../../domain/webhooks/outbox.ts";
import type { PredictionRecord } from "./record.ts";
import type { EventDeliveries } from "./rpc-types.ts";

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
