/**
 * Tells the account how its webhooks fare, for its list of deliveries: what changes within a second in
 * one call. Nothing waits for it, and what is lost stays as it was listed until the next change: the
 * prediction knows better.
 */
import { withoutQuery } from "../../domain/webhooks/address.ts";
import { type DeliveryRow, deliveryRowsOf } from "../../domain/webhooks/delivery-row.ts";
import type { OutboxEvent } from "../../domain/webhooks/outbox.ts";
import type { Bindings } from "../../env.ts";
import { logger } from "../../log.ts";
import { accountAt } from "../account/stub.ts";
import type { PredictionRecord } from "./record.ts";

/** Most tries end sooner, and are told with their outcome. */
const GATHER_MS = 1_000;

export class DeliveryReport {
  readonly #ctx: DurableObjectState;
  readonly #env: Bindings;
  /** By event and receiver. */
  #rows = new Map<string, DeliveryRow>();

  constructor(ctx: DurableObjectState, env: Bindings) {
    this.#ctx = ctx;
    this.#env = env;
  }

  changed({ life: { spec } }: PredictionRecord, events: readonly OutboxEvent[]): void {
    if (events.length === 0) return;
    const isFirst = this.#rows.size === 0;
    const ownUrl = spec.webhook ? withoutQuery(spec.webhook.url) : null;
    for (const row of deliveryRowsOf(spec.id, events, ownUrl, Date.now()))
      this.#rows.set(`${row.sequence} ${row.endpoint_id}`, row);
    if (isFirst && this.#rows.size > 0)
      setTimeout(() => this.#tell(spec.account_object), GATHER_MS);
  }

  #tell(accountObject: string): void {
    const rows = [...this.#rows.values()];
    this.#rows = new Map();
    this.#ctx.waitUntil(
      accountAt(this.#env, accountObject)
        .recordDeliveries(rows)
        .catch((error) =>
          logger.warn("Deliveries not listed", { prediction_id: rows[0]?.prediction_id, error }),
        ),
    );
  }
}
