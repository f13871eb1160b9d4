/**
 * Takes the webhooks of a prediction to their receivers. Nothing waits for it: the alarm begins
 * tries and goes on, and what a try came to is settled when it has ended.
 */

import { eventId } from "../../domain/webhook/event-id.ts";
import type { Begun, Outbox } from "../../domain/webhook/outbox.ts";
import type { Outcome } from "../../domain/webhook/outcome.ts";
import { signedHeaders } from "../../domain/webhook/signature.ts";
import { type Bindings, settings } from "../../env.ts";
import { errorText } from "../../log.ts";
import { post } from "../../outbound/post.ts";
import { database } from "../../storage/database.ts";
import { endpointOf, noteOutcome } from "../../storage/known-endpoints.ts";
import type { WebhookEndpointRow } from "../../storage/webhook-endpoints.ts";
import type { Piece } from "./log.ts";
import { payloadOf } from "./payload.ts";
import type { PredictionRecord } from "./record.ts";

/** How much longer than its time limit a try may be under way before it is taken for lost. */
const LOST_FACTOR = 1.5;

export interface CourierParts {
  ctx: DurableObjectState;
  env: Bindings;
  /** A value that lies in R2. */
  open(name: string): Promise<ReadableStream<Uint8Array>>;
  /** Something of a record has changed: to be written, and seen to in time. */
  changed(record: PredictionRecord): void;
}

/** What became of a try; with the endpoint, when it tells something of its health. */
interface Sent {
  outcome: Outcome;
  endpoint?: WebhookEndpointRow;
}

export class Courier {
  readonly #parts: CourierParts;

  constructor(parts: CourierParts) {
    this.#parts = parts;
  }

  /** Begins what is due. */
  begin(record: PredictionRecord, outbox: Outbox, now: number): void {
    for (const begun of outbox.begin(now, this.#rules)) {
      this.#parts.ctx.waitUntil(this.#deliver(record, outbox, begun));
    }
    this.#parts.changed(record);
  }

  async #deliver(record: PredictionRecord, outbox: Outbox, begun: Begun): Promise<void> {
    const { outcome, endpoint } = await this.#send(record, begun).catch(unready);
    const now = Date.now();
    const givenUp = outbox.settle(begun, outcome, now, Math.random(), this.#rules);
    this.#parts.changed(record);
    if (!endpoint) return;
    const { switchOffMs } = this.#settings;
    const noted = { outcome, givenUp, at: begun.attempt.at, switchOffMs };
    // A note that is lost is made again with the next outcome.
    await noteOutcome(database(this.#parts.env.DB), endpoint, noted).catch((error) =>
      console.warn("health of an endpoint not noted", { id: endpoint.id, error: errorText(error) }),
    );
  }

  async #send(record: PredictionRecord, begun: Begun): Promise<Sent> {
    const id = begun.delivery.endpoint_id;
    if (id === null) {
      const { url = "", secret } = record.life.spec.webhook ?? {};
      return { outcome: await this.#post(record, begun, url, secret ? [secret] : []) };
    }
    const endpoint = await endpointOf(database(this.#parts.env.DB), id);
    if (!endpoint) return { outcome: { ...failure("the endpoint has been deleted"), final: true } };
    if (!endpoint.enabled) return { outcome: failure("the endpoint is switched off") };
    const secrets = endpoint.secrets.map(({ secret }) => secret);
    return { outcome: await this.#post(record, begun, endpoint.url, secrets), endpoint };
  }

  async #post(
    record: PredictionRecord,
    { event, attempt }: Begun,
    url: string,
    secrets: string[],
  ): Promise<Outcome> {
    const body = await this.#text(payloadOf(record, event));
    const message = { id: eventId(record.life.spec.id, event.sequence), at: attempt.at, body };
    return post({ url, headers: await signedHeaders(message, secrets), body }, this.#settings);
  }

  async #text(pieces: Piece[]): Promise<string> {
    const texts = pieces.map(async (piece) =>
      typeof piece === "string" ? piece : new Response(await this.#parts.open(piece.name)).text(),
    );
    return (await Promise.all(texts)).join("");
  }

  get #settings() {
    return settings(this.#parts.env).webhooks;
  }

  get #rules() {
    const { firstRetryMs, timeoutMs } = this.#settings;
    return { firstRetryMs, lostMs: timeoutMs * LOST_FACTOR };
  }
}

const failure = (error: string): Outcome => ({ status: null, error });

/** Ours to mend, and not the receiver's doing: it is tried again. */
function unready(error: unknown): Sent {
  console.error("webhook not made", { error: errorText(error) });
  return { outcome: failure("the service could not put it together") };
}
