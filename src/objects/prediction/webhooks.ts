/**
 * Sends the webhooks of a prediction. No call waits for them: the alarm starts tries and goes on, and each
 * try is settled when it has ended.
 */
import type { PredictionSpec } from "../../domain/predictions/state.ts";
import { withoutQuery } from "../../domain/webhooks/address.ts";
import type { Delivery, Outcome } from "../../domain/webhooks/delivery.ts";
import { type DeliveryRow, deliveryRowsOf, eventId } from "../../domain/webhooks/delivery-row.ts";
import type { BegunTry, Outbox, OutboxEvent } from "../../domain/webhooks/outbox.ts";
import { signedHeaders } from "../../domain/webhooks/signature.ts";
import { readSecret, signingSecrets } from "../../domain/webhooks/stored-secret.ts";
import { type Bindings, settings } from "../../env.ts";
import { type JsonPieces, objectText } from "../../lib/json-splice.ts";
import { withTimeout } from "../../lib/timeout.ts";
import { logger } from "../../log.ts";
import { HOST_LIMIT_SECONDS, mayPost, post } from "../../outbound/post.ts";
import type { StoredValue } from "../../protocol/event.ts";
import type { WebhookPayload } from "../../protocol/webhook-payload.ts";
import { database } from "../../storage/database.ts";
import { signStreamUrl, webhookSecrets } from "../../storage/files/signed-file-urls.ts";
import { getCachedEndpoint, recordOutcome } from "../../storage/webhooks/endpoint-cache.ts";
import type { WebhookEndpointRow } from "../../storage/webhooks/endpoints.ts";
import { accountAt } from "../stubs/account.ts";
import type { EventDeliveries, ReplicateView } from "../stubs/prediction.ts";
import type { PredictionRecord } from "./record.ts";
import { sendDelivery } from "./trace.ts";

/** A try counts as lost after this many time limits: one to prepare it, one to post it, and a margin. */
const LOST_FACTOR = 2.5;

interface WebhookSenderOptions {
  ctx: DurableObjectState;
  env: Bindings;
  find: FindValue;
  /** Called when the deliveries of a record have changed: they must be saved and the alarm set. */
  onChange(record: PredictionRecord): void;
}

interface Target {
  url: string;
  secrets: string[];
  endpoint?: WebhookEndpointRow;
}

/** The outcome of a try; with the endpoint if it says something about its health. */
interface TryResult {
  outcome: Outcome;
  endpoint?: WebhookEndpointRow | undefined;
}

type BodyFor = (event: OutboxEvent, delivery: Delivery) => Promise<string>;

export class WebhookSender {
  readonly #options: WebhookSenderOptions;

  constructor(options: WebhookSenderOptions) {
    this.#options = options;
  }

  /** Starts the tries that are due. */
  begin(record: PredictionRecord, outbox: Outbox, now: number): void {
    const bodies = new Map<OutboxEvent, Promise<string>>();
    const { api } = record.life.spec.webhook ?? {};
    /** Returns the body of an event, which is made once for all destinations of the same API. */
    const bodyFor = (event: OutboxEvent, { endpoint_id }: Delivery): Promise<string> => {
      if (endpoint_id === null && api === "replicate") return this.#replicateBody(record, event);
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
    bodyFor: BodyFor,
  ): Promise<void> {
    const { outcome, endpoint } = await this.#send(record, begun, bodyFor).catch((error) =>
      unprepared(record, error),
    );
    const settled = outbox.settle(begun, outcome, Date.now(), Math.random(), this.#rules);
    if (settled === "late") return;
    this.#options.onChange(record);
    await sendDelivery(this.#options.env, record, begun);
    if (!endpoint) return;
    const { switchOffMs } = this.#settings;
    const isLast = settled === "failed";
    const delivered = { outcome, isLast, at: begun.attempt.at, switchOffMs };
    // A health record that fails is made up for by the next outcome.
    await recordOutcome(database(this.#options.env.DB), endpoint, delivered).catch((error) =>
      logger.warn("Webhook endpoint's health not recorded", { endpoint_id: endpoint.id, error }),
    );
  }

  async #send(
    { life: { spec } }: PredictionRecord,
    { event, delivery, attempt }: BegunTry,
    bodyFor: BodyFor,
  ): Promise<TryResult> {
    const { timeoutMs } = this.#settings;
    const target = await withTimeout(this.#targetOf(spec, delivery), timeoutMs);
    if ("outcome" in target) return target;
    if (!(await mayPost(this.#options.env, spec.user_id, target.url))) return THROTTLED;
    const body = await withTimeout(bodyFor(event, delivery), timeoutMs);
    const message = { id: eventId(spec.id, event.sequence), at: attempt.at, body };
    const headers = await signedHeaders(message, target.secrets);
    const { url, secrets } = target;
    const outcome = await post({ url, headers, body, secrets }, this.#settings);
    return { outcome, endpoint: target.endpoint };
  }

  async #targetOf(
    { id, user_id, webhook }: PredictionSpec,
    { endpoint_id }: Delivery,
  ): Promise<Target | { outcome: Outcome }> {
    const { env } = this.#options;
    const { secretKeys } = settings(env);
    if (endpoint_id === null) {
      const { url = "", secret, encrypted, api } = webhook ?? {};
      if (api === "replicate")
        return { url, secrets: await webhookSecrets(settings(env), database(env.DB), user_id) };
      if (secret === undefined) return { url, secrets: [] };
      return { url, secrets: [await readSecret(secretKeys, id, { secret, encrypted })] };
    }
    const endpoint = await getCachedEndpoint(database(this.#options.env.DB), endpoint_id);
    if (!endpoint) return { outcome: { ...failure("the endpoint has been deleted"), final: true } };
    if (!endpoint.enabled) return { outcome: failure("the endpoint is switched off") };
    return { url: endpoint.url, secrets: await signingSecrets(secretKeys, endpoint), endpoint };
  }

  async #replicateBody(record: PredictionRecord, event: OutboxEvent): Promise<string> {
    const { env, find } = this.#options;
    const { url, id, token_id } = record.life.spec;
    const stream_url =
      token_id === ""
        ? undefined
        : await signStreamUrl(settings(env), database(env.DB), new URL(url).origin, {
            id,
            token_id,
          });
    return replicateBody(record, event, { stream_url }, find);
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

/** An error of the service, not of the receiver: the webhook is tried again. */
function unprepared({ life }: PredictionRecord, error: unknown): TryResult {
  logger.error("Webhook not prepared", { prediction_id: life.spec.id, error });
  return { outcome: failure("the service could not prepare it") };
}

/** The body of a webhook: the prediction as it was when the event happened. */

/** Bytes of input and of output each: larger ones are left out and read at the prediction's URL. */
const MAX_DATA_BYTES = 1024 * 1024;

/** Opens a value that is stored in R2; undefined when it does not exist. */
export type FindValue = (name: string) => Promise<ReadableStream<Uint8Array> | undefined>;

/**
 * Returns JSON text of little more than 2 MiB at most. `data_omitted` says that input or output is left out.
 */
async function webhookBody(
  record: PredictionRecord,
  event: OutboxEvent,
  find: FindValue,
): Promise<string> {
  const { life } = record;
  const { input, output } = await dataOf(record, event, find);
  const about = {
    data_removed: life.dataRemoved,
    data_omitted: input === undefined || output === undefined,
    webhook: {
      id: eventId(life.spec.id, event.sequence),
      event: event.event,
      sequence: event.sequence,
      created_at: new Date(event.at).toISOString(),
    },
    ...(event.budget && { budget: event.budget }),
  } satisfies Partial<WebhookPayload>;
  const values = { input: input ?? "null", output: output ?? "null" };
  return objectText({ ...event.prediction, ...about }, values);
}

/** Returns JSON texts, undefined for one that is left out. */
async function dataOf(record: PredictionRecord, event: OutboxEvent, find: FindValue) {
  if (record.life.dataRemoved) return {};
  // A list is too large by its sum. Of a `value` only the last output counts, which may be small.
  const tooLarge = event.output !== "value" && event.output_bytes > MAX_DATA_BYTES;
  const [input, output] = await Promise.all([
    textOf([record.input()], find),
    tooLarge ? undefined : textOf(record.outputAsOf(event), find),
  ]);
  return { input, output };
}

/** Characters of the log in a body of Replicate's API: its end. */
const MAX_LOG_CHARS = 256 * 1024;

/** Bytes of outputs and logs up to which each `output` event reads the log, which blocks the object. */
const QUICKLY_READ_BYTES = 512 * 1024;

/** Returns the body in the shape of Replicate's API, which has the log. */
async function replicateBody(
  record: PredictionRecord,
  event: OutboxEvent,
  view: ReplicateView,
  find: FindValue,
): Promise<string> {
  const { input, output } = await dataOf(record, event, find);
  const { output_bytes, logs_bytes } = record.log.totals;
  const isQuick = event.event !== "output" || output_bytes + logs_bytes <= QUICKLY_READ_BYTES;
  const log = record.life.dataRemoved || !isQuick ? [] : record.logFile();
  const logs = [...log].join("").slice(-MAX_LOG_CHARS);
  const omitted = input === undefined || output === undefined;
  const members = {
    ...record.replicateHead(event.prediction, view),
    logs,
    ...(omitted && { data_omitted: true }),
  };
  return objectText(members, { input: input ?? "null", output: output ?? "null" });
}

/** undefined when the text is too large, or a part of it does not exist. */
async function textOf(
  pieces: JsonPieces<StoredValue>,
  find: FindValue,
): Promise<string | undefined> {
  if (pieces.reduce((bytes, piece) => bytes + sizeOf(piece), 0) > MAX_DATA_BYTES) return undefined;
  const texts: string[] = [];
  for (const piece of pieces) {
    const content = typeof piece === "string" ? piece : await find(piece.name);
    if (content === undefined) return undefined;
    texts.push(typeof content === "string" ? content : await new Response(content).text());
  }
  return texts.join("");
}

const encoder = new TextEncoder();

const sizeOf = (piece: string | StoredValue) =>
  typeof piece === "string" ? encoder.encode(piece).length : piece.size;

/** Webhook deliveries as pages show them, without signatures. */

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

/**
 * Returns the body of a webhook event, with what is left of its data; undefined when there is no such event.
 */
export async function bodyOf(
  record: PredictionRecord,
  sequence: number,
  find: FindValue,
): Promise<string | undefined> {
  const event = record.outbox?.events.find((one) => one.sequence === sequence);
  return event && webhookBody(record, event, find);
}

/**
 * Reports the state of webhooks to the account, for its list of deliveries: changes within a second go in one
 * call. No call waits for a report, and a delivery whose report is lost stays as it was listed until the next
 * change: the prediction knows better.
 */

/** How long changes are gathered. Most tries end sooner, and are reported with their outcome. */
const GATHER_MS = 1_000;

export class DeliveryReport {
  readonly #ctx: DurableObjectState;
  readonly #env: Bindings;
  /** Rows by event and receiver. */
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
      setTimeout(() => this.#report(spec.account_object), GATHER_MS);
  }

  #report(accountObject: string): void {
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
