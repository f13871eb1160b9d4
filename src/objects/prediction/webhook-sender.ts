/**
 * Sends the webhooks of a prediction. Nothing waits for it: the alarm starts tries and goes on, and
 * each try is settled when it has ended.
 */
import type { PredictionSpec } from "../../domain/predictions/state.ts";
import type { Delivery } from "../../domain/webhooks/delivery.ts";
import { eventId } from "../../domain/webhooks/event-id.ts";
import type { BegunTry, Outbox, OutboxEvent } from "../../domain/webhooks/outbox.ts";
import type { Outcome } from "../../domain/webhooks/outcome.ts";
import { signedHeaders } from "../../domain/webhooks/signature.ts";
import { readSecret, signingSecrets } from "../../domain/webhooks/stored-secret.ts";
import { type Bindings, settings } from "../../env.ts";
import { withTimeout } from "../../lib/timeout.ts";
import { logger } from "../../log.ts";
import { HOST_LIMIT_SECONDS, mayPost } from "../../outbound/pace.ts";
import { post } from "../../outbound/post.ts";
import { database } from "../../storage/database.ts";
import { getCachedEndpoint, recordOutcome } from "../../storage/webhooks/endpoint-cache.ts";
import type { WebhookEndpointRow } from "../../storage/webhooks/endpoints.ts";
import type { PredictionRecord } from "./record.ts";
import { type FindValue, webhookBody } from "./webhook-body.ts";

/** A try counts as lost after this many time limits: one to prepare it, one to post it, and a margin. */
const LOST_FACTOR = 2.5;

export interface WebhookSenderOptions {
  ctx: DurableObjectState;
  env: Bindings;
  find: FindValue;
  /** The deliveries of a record have changed: they must be saved and the alarm set. */
  onChange(record: PredictionRecord): void;
}

interface Target {
  url: string;
  /** Those that it is signed with. */
  secrets: string[];
  endpoint?: WebhookEndpointRow;
}

/** The outcome of a try; with the endpoint if it says something about its health. */
interface TryResult {
  outcome: Outcome;
  endpoint?: WebhookEndpointRow | undefined;
}

export class WebhookSender {
  readonly #options: WebhookSenderOptions;

  constructor(options: WebhookSenderOptions) {
    this.#options = options;
  }

  /** Starts the tries that are due. */
  begin(record: PredictionRecord, outbox: Outbox, now: number): void {
    const bodies = new Map<OutboxEvent, Promise<string>>();
    /** One body for all destinations of an event. */
    const bodyFor = (event: OutboxEvent): Promise<string> => {
      const body = bodies.get(event) ?? webhookBody(record, event, this.#options.find);
      bodies.set(event, body);
      return body;
    };
    for (const begun of outbox.begin(now, this.#rules)) {
      this.#options.ctx.waitUntil(this.#deliver(record, outbox, begun, bodyFor));
    }
    this.#options.onChange(record);
  }

  async #deliver(
    record: PredictionRecord,
    outbox: Outbox,
    begun: BegunTry,
    bodyFor: (event: OutboxEvent) => Promise<string>,
  ): Promise<void> {
    const { outcome, endpoint } = await this.#send(record, begun, bodyFor).catch((error) =>
      unprepared(record, error),
    );
    const settled = outbox.settle(begun, outcome, Date.now(), Math.random(), this.#rules);
    if (settled === "late") return;
    this.#options.onChange(record);
    if (!endpoint) return;
    const { switchOffMs } = this.#settings;
    const isLast = settled === "failed";
    const delivered = { outcome, isLast, at: begun.attempt.at, switchOffMs };
    // If this fails the next outcome records it.
    await recordOutcome(database(this.#options.env.DB), endpoint, delivered).catch((error) =>
      logger.warn("Webhook endpoint's health not recorded", { endpoint_id: endpoint.id, error }),
    );
  }

  async #send(
    { life: { spec } }: PredictionRecord,
    { event, delivery, attempt }: BegunTry,
    bodyFor: (event: OutboxEvent) => Promise<string>,
  ): Promise<TryResult> {
    const { timeoutMs } = this.#settings;
    const target = await withTimeout(this.#targetOf(spec, delivery), timeoutMs);
    if ("outcome" in target) return target;
    if (!(await mayPost(this.#options.env, spec.user_id, target.url))) return THROTTLED;
    const body = await withTimeout(bodyFor(event), timeoutMs);
    const message = { id: eventId(spec.id, event.sequence), at: attempt.at, body };
    const headers = await signedHeaders(message, target.secrets);
    const { url, secrets } = target;
    const outcome = await post({ url, headers, body, secrets }, this.#settings);
    return { outcome, endpoint: target.endpoint };
  }

  async #targetOf(
    { id, webhook }: PredictionSpec,
    { endpoint_id }: Delivery,
  ): Promise<Target | { outcome: Outcome }> {
    const { secretKeys } = settings(this.#options.env);
    if (endpoint_id === null) {
      const { url = "", secret, encrypted } = webhook ?? {};
      if (secret === undefined) return { url, secrets: [] };
      return { url, secrets: [await readSecret(secretKeys, id, { secret, encrypted })] };
    }
    const endpoint = await getCachedEndpoint(database(this.#options.env.DB), endpoint_id);
    if (!endpoint) return { outcome: { ...failure("the endpoint has been deleted"), final: true } };
    if (!endpoint.enabled) return { outcome: failure("the endpoint is switched off") };
    return { url: endpoint.url, secrets: await signingSecrets(secretKeys, endpoint), endpoint };
  }

  get #settings() {
    return settings(this.#options.env).webhooks;
  }

  get #rules() {
    const { firstRetryMs, timeoutMs } = this.#settings;
    return { firstRetryMs, lostMs: timeoutMs * LOST_FACTOR };
  }
}

const THROTTLED: TryResult = {
  outcome: { status: null, error: "throttled", throttledMs: HOST_LIMIT_SECONDS * 1_000 },
};

const failure = (error: string): Outcome => ({ status: null, error });

/** An error of the service, not of the receiver: it is tried again. */
function unprepared({ life }: PredictionRecord, error: unknown): TryResult {
  logger.error("Webhook not prepared", { prediction_id: life.spec.id, error });
  return { outcome: failure("the service could not prepare it") };
}
