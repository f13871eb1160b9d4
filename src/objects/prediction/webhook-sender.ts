/**
 * Takes the webhooks of a prediction to their receivers. Nothing waits for it: the alarm begins
 * tries and goes on, and what a try came to is settled when it has ended.
 */
import type { PredictionSpec } from "../../domain/predictions/state.ts";
import type { Delivery } from "../../domain/webhooks/delivery.ts";
import { eventId } from "../../domain/webhooks/event-id.ts";
import type { Begun, Outbox, OutboxEvent } from "../../domain/webhooks/outbox.ts";
import type { Outcome } from "../../domain/webhooks/outcome.ts";
import { signedHeaders } from "../../domain/webhooks/signature.ts";
import { readSecret, signingSecrets } from "../../domain/webhooks/stored-secret.ts";
import { type Bindings, settings } from "../../env.ts";
import { withTimeout } from "../../lib/timeout.ts";
import { logger } from "../../log.ts";
import { mayPost, PACE_SECONDS } from "../../outbound/pace.ts";
import { post } from "../../outbound/post.ts";
import { database } from "../../storage/database.ts";
import { endpointOf, noteOutcome } from "../../storage/webhooks/endpoint-cache.ts";
import type { WebhookEndpointRow } from "../../storage/webhooks/endpoints.ts";
import type { PredictionRecord } from "./record.ts";
import { bodyOf, type FindValue } from "./webhook-body.ts";

/** Of the time limit of a try: once to make ready, once to post, and then it is taken for lost. */
const LOST_FACTOR = 2.5;

export interface WebhookSenderOptions {
  ctx: DurableObjectState;
  env: Bindings;
  find: FindValue;
  /** Something of a record has changed: to be written, and seen to in time. */
  changed(record: PredictionRecord): void;
}

interface Address {
  url: string;
  /** As they are signed with. */
  secrets: string[];
  endpoint?: WebhookEndpointRow;
}

/** What became of a try; with the endpoint, when it tells something of its health. */
interface Sent {
  outcome: Outcome;
  endpoint?: WebhookEndpointRow | undefined;
}

export class WebhookSender {
  readonly #parts: WebhookSenderOptions;

  constructor(parts: WebhookSenderOptions) {
    this.#parts = parts;
  }

  /** Begins what is due. */
  begin(record: PredictionRecord, outbox: Outbox, now: number): void {
    const bodies = new Map<OutboxEvent, Promise<string>>();
    /** The same for all that are told of an event now. */
    const bodyFor = (event: OutboxEvent): Promise<string> => {
      const body = bodies.get(event) ?? bodyOf(record, event, this.#parts.find);
      bodies.set(event, body);
      return body;
    };
    for (const begun of outbox.begin(now, this.#rules)) {
      this.#parts.ctx.waitUntil(this.#deliver(record, outbox, begun, bodyFor));
    }
    this.#parts.changed(record);
  }

  async #deliver(
    record: PredictionRecord,
    outbox: Outbox,
    begun: Begun,
    bodyFor: (event: OutboxEvent) => Promise<string>,
  ): Promise<void> {
    const { outcome, endpoint } = await this.#send(record, begun, bodyFor).catch((error) =>
      unprepared(record, error),
    );
    const settled = outbox.settle(begun, outcome, Date.now(), Math.random(), this.#rules);
    if (settled === "late") return;
    this.#parts.changed(record);
    if (!endpoint) return;
    const { switchOffMs } = this.#settings;
    const givenUp = settled === "failed";
    const noted = { outcome, givenUp, at: begun.attempt.at, switchOffMs };
    // A note that is lost is made again with the next outcome.
    await noteOutcome(database(this.#parts.env.DB), endpoint, noted).catch((error) =>
      logger.warn("Webhook endpoint's health not recorded", { endpoint_id: endpoint.id, error }),
    );
  }

  async #send(
    { life: { spec } }: PredictionRecord,
    { event, delivery, attempt }: Begun,
    bodyFor: (event: OutboxEvent) => Promise<string>,
  ): Promise<Sent> {
    const { timeoutMs } = this.#settings;
    const address = await withTimeout(this.#addressOf(spec, delivery), timeoutMs);
    if ("outcome" in address) return address;
    if (!(await mayPost(this.#parts.env, address.url))) return HELD_BACK;
    const body = await withTimeout(bodyFor(event), timeoutMs);
    const message = { id: eventId(spec.id, event.sequence), at: attempt.at, body };
    const headers = await signedHeaders(message, address.secrets);
    const outcome = await post({ url: address.url, headers, body }, this.#settings);
    return { outcome, endpoint: address.endpoint };
  }

  async #addressOf(
    { id, webhook }: PredictionSpec,
    { endpoint_id }: Delivery,
  ): Promise<Address | { outcome: Outcome }> {
    const { secretKeys } = settings(this.#parts.env);
    if (endpoint_id === null) {
      const { url = "", secret, encrypted } = webhook ?? {};
      if (secret === undefined) return { url, secrets: [] };
      return { url, secrets: [await readSecret(secretKeys, id, { secret, encrypted })] };
    }
    const endpoint = await endpointOf(database(this.#parts.env.DB), endpoint_id);
    if (!endpoint) return { outcome: { ...failure("the endpoint has been deleted"), final: true } };
    if (!endpoint.enabled) return { outcome: failure("the endpoint is switched off") };
    return { url: endpoint.url, secrets: await signingSecrets(secretKeys, endpoint), endpoint };
  }

  get #settings() {
    return settings(this.#parts.env).webhooks;
  }

  get #rules() {
    const { firstRetryMs, timeoutMs } = this.#settings;
    return { firstRetryMs, lostMs: timeoutMs * LOST_FACTOR };
  }
}

const HELD_BACK: Sent = {
  outcome: { status: null, error: "held back", heldBackMs: PACE_SECONDS * 1_000 },
};

const failure = (error: string): Outcome => ({ status: null, error });

/** Ours to mend, and not the receiver's doing: it is tried again. */
function unprepared({ life }: PredictionRecord, error: unknown): Sent {
  logger.error("Webhook not prepared", { prediction_id: life.spec.id, error });
  return { outcome: failure("the service could not put it together") };
}
