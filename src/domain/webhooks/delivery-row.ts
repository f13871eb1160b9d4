/** A row of an account's list of deliveries: a copy of the state in the prediction's object. */
import type { DeliveryState, WebhookEventName } from "../../protocol/webhook.ts";
import type { OutboxEvent } from "./outbox.ts";

export interface DeliveryRow {
  prediction_id: string;
  sequence: number;
  /** Empty: the webhook of the prediction itself. */
  endpoint_id: string;
  event: WebhookEventName;
  /** When the event happened, Unix ms. */
  at: number;
  /** The URL of the prediction's own webhook, without its query. */
  url: string | null;
  state: DeliveryState;
  attempts: number;
  /** The status of the last try that has ended. */
  status: number | null;
  error: string | null;
  /** When the next try is due, Unix ms; null: none is, or one is under way. */
  next_at: number | null;
  /** The time of the reported state, Unix ms: an older report changes nothing. */
  told_at: number;
}

export interface DeliveryFilter {
  /** `failed` includes deliveries that are tried again. */
  which: "failed" | "delivered" | undefined;
  /** Empty: the webhooks of predictions themselves. */
  endpoint_id: string | undefined;
  /** Only deliveries of this maker's predictions. Undefined: of all. */
  maker?: string | undefined;
}

/**
 * Returns the rows. `output` events are many, and each is part of the next: only those with failed tries are
 * listed.
 * @param ownUrl of the prediction's own webhook, without its query
 */
export function deliveryRowsOf(
  predictionId: string,
  events: readonly OutboxEvent[],
  ownUrl: string | null,
  now: number,
): DeliveryRow[] {
  return events.flatMap(({ sequence, event, at, deliveries }) =>
    deliveries
      .filter(({ attempts }) => event !== "output" || attempts.some(({ error }) => error !== null))
      .map(({ endpoint_id, state, next_at, under_way, attempts }) => {
        const last = attempts.findLast(({ duration_ms, error }) => duration_ms !== null || error);
        return {
          prediction_id: predictionId,
          sequence,
          endpoint_id: endpoint_id ?? "",
          event,
          at,
          url: endpoint_id === null ? ownUrl : null,
          state,
          attempts: attempts.length,
          status: last?.status ?? null,
          error: last?.error ?? null,
          next_at: state === "pending" && !under_way ? next_at : null,
          told_at: now,
        };
      }),
  );
}

/** Ids of webhook events. Each consists of the prediction and the event, so it is unique. */

export const eventId = (predictionId: string, sequence: number) =>
  `evt_${predictionId}_${sequence}`;

/** Returns the sequence in an id; undefined for an id of another prediction. */
export function sequenceOf(id: string, predictionId: string): number | undefined {
  const prefix = `evt_${predictionId}_`;
  return id.startsWith(prefix) ? Number(id.slice(prefix.length)) : undefined;
}
