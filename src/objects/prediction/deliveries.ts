/** What was told to whom of a prediction, without what was said and what it was signed with. */
import type { OutboxEvent } from "../../domain/webhooks/outbox.ts";
import type { PredictionRecord } from "./record.ts";

/** Times are unix ms. */
export interface EventDeliveries
  extends Pick<OutboxEvent, "sequence" | "event" | "at" | "deliveries"> {
  /** Of the prediction's own webhook. */
  own_url: string | null;
}

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
