/** Lists the webhook deliveries of a prediction, and repeats one. */

import { onlyMaker } from "../../domain/accounts/access.ts";
import { withoutQuery } from "../../domain/webhooks/address.ts";
import type { Delivery } from "../../domain/webhooks/delivery.ts";
import { type DeliveryFilter, eventId, sequenceOf } from "../../domain/webhooks/delivery-row.ts";
import { conflict, notFound, ProblemError } from "../../errors/errors.ts";
import type { ListedDelivery } from "../../objects/stubs/account.ts";
import type { EventDeliveries } from "../../objects/stubs/prediction.ts";
import type {
  DeliveryState,
  WebhookDelivery,
  WebhookEvent,
  WebhookEventName,
} from "../../protocol/webhook.ts";
import { getCachedEndpoint } from "../../storage/webhooks/endpoint-cache.ts";
import type { Caller } from "../access/access.ts";
import { findAccount } from "../access/accounts.ts";
import { onePage, type Page, type PageRequest, paginate } from "../pagination.ts";
import { predictionStub } from "../predictions/predictions.ts";
import type { Services } from "../services.ts";

/** The most failed deliveries that are listed: more than are kept, since they are trimmed late. */
const MAX_FAILED = 600;

/** How many deliveries a request may repeat that were not chosen one by one: they take a few seconds. */
export const MOST_AT_ONCE = 100;

/**
 * Lists `started`, `completed` and the last 100 `output` events, oldest first.
 * @throws ProblemError not_found
 */
export async function listWebhooks(
  services: Services,
  caller: Caller,
  predictionId: string,
): Promise<Page<WebhookEvent>> {
  const entries =
    (await (await predictionStub(services, caller, predictionId)).listDeliveries()) ?? [];
  return onePage(await Promise.all(entries.map((one) => present(services, predictionId, one))));
}

export interface ShownEvent {
  event: WebhookEvent;
  /** JSON text as it is posted now: without data that was removed. */
  body: string;
}

/** @throws ProblemError not_found */
export async function showWebhook(
  services: Services,
  caller: Caller,
  predictionId: string,
  id: string,
): Promise<ShownEvent> {
  const stub = await predictionStub(services, caller, predictionId);
  const sequence = sequenceOf(id, predictionId) ?? 0;
  const [entries = [], body] = await Promise.all([
    stub.listDeliveries(),
    stub.webhookBody(sequence),
  ]);
  const entry = entries.find((one) => one.sequence === sequence);
  if (!entry || body === undefined) throw notFound(`The webhook event '${id}'`);
  return { event: await present(services, predictionId, entry), body };
}

/**
 * @param endpointId to this endpoint only; null is the prediction's own webhook
 * @throws ProblemError not_found; conflict where nothing can be sent to the endpoint, whose earlier
 * deliveries keep their state
 */
export async function redeliver(
  services: Services,
  caller: Caller,
  predictionId: string,
  id: string,
  endpointId: string | null | undefined,
): Promise<WebhookEvent> {
  const stub = await predictionStub(services, caller, predictionId);
  const sequence = sequenceOf(id, predictionId);
  if (typeof endpointId === "string") {
    const endpoint = await getCachedEndpoint(services.db, endpointId);
    // Only a receiver of the event learns that its endpoint is off or gone; any other id is not found.
    if (!endpoint?.enabled && (await isReceiver(stub, sequence, endpointId)))
      throw conflict(endpoint ? IS_OFF : IS_GONE);
  }
  const entry = sequence === undefined ? undefined : await stub.redeliver(sequence, endpointId);
  if (entry) return present(services, predictionId, entry);
  const to = endpointId === undefined ? "" : " for this endpoint";
  throw notFound(`The webhook event '${id}'${to}`);
}

const IS_OFF = "The endpoint is disabled: enable it, then try again.";
const IS_GONE = "The endpoint was deleted.";

async function isReceiver(
  stub: Awaited<ReturnType<typeof predictionStub>>,
  sequence: number | undefined,
  endpointId: string,
): Promise<boolean> {
  const event = (await stub.listDeliveries())?.find((one) => one.sequence === sequence);
  return event?.deliveries.some(({ endpoint_id }) => endpoint_id === endpointId) === true;
}

async function present(
  services: Services,
  predictionId: string,
  { sequence, event, at, deliveries, own_url }: EventDeliveries,
): Promise<WebhookEvent> {
  const urlOf = async (endpointId: string | null) =>
    endpointId === null
      ? own_url
      : ((await getCachedEndpoint(services.db, endpointId))?.url ?? null);
  const presented = deliveries.map(async (one) =>
    presentDelivery(one, await urlOf(one.endpoint_id)),
  );
  return {
    id: eventId(predictionId, sequence),
    event,
    sequence,
    created_at: timestamp(at),
    deliveries: await Promise.all(presented),
  };
}

function presentDelivery(
  { endpoint_id, state, next_at, under_way, attempts }: Delivery,
  url: string | null,
): WebhookDelivery {
  const isWaiting = state === "pending" && !under_way;
  return {
    endpoint_id,
    url: url && withoutQuery(url),
    state,
    next_attempt_at: isWaiting ? timestamp(next_at) : null,
    attempts: attempts.map(({ at, ...attempt }) => ({ at: timestamp(at), ...attempt })),
  };
}

const timestamp = (ms: number) => new Date(ms).toISOString();

/** A delivery as its prediction last reported it; the prediction itself may know more. */
export interface AccountDelivery {
  prediction_id: string;
  event_id: string;
  event: WebhookEventName;
  /** When the event happened, Unix ms. */
  at: number;
  /** `owner/name` when it was run; null: the prediction is not listed any more. */
  model: string | null;
  /** The id of the endpoint. Null: the prediction's own webhook, whose URL is `url`. */
  endpoint_id: string | null;
  url: string | null;
  state: DeliveryState;
  attempts: number;
  status: number | null;
  error: string | null;
  /** Unix ms. */
  next_at: number | null;
}

/** Lists deliveries, those of the newest prediction first. A member's list has those of their own predictions. */
export async function listAccountDeliveries(
  services: Services,
  caller: Caller,
  { which, endpoint_id }: DeliveryFilter,
  request: PageRequest,
): Promise<Page<AccountDelivery>> {
  const account = await findAccount(services, caller.user_id);
  const filter = { which, endpoint_id, maker: onlyMaker(caller) };
  return paginate(services, request, {
    name: `deliveries/${caller.user_id}?${JSON.stringify(filter)}`,
    find: async (keyset) => (await account?.listDeliveries(filter, keyset)) ?? [],
    keyOf: ({ delivery: { prediction_id, sequence, endpoint_id } }) => [
      prediction_id,
      sequence,
      endpoint_id,
    ],
    present: deliveryOf,
  });
}

interface Failed {
  /**
   * The deliveries in the order in which to repeat them: those that are given up, then those whose next try
   * is the farthest away. Deliveries that were repeated before come last, so that repeating makes progress.
   */
  deliveries: AccountDelivery[];
  /**
   * How many more deliveries there are of events that are not kept. They are left out: tried first each time,
   * they would be all.
   */
  gone: number;
}

/** Returns all deliveries that failed, and that the caller may repeat. @param endpoint_id as in DeliveryFilter */
export async function listFailed(
  services: Services,
  caller: Caller,
  endpoint_id: DeliveryFilter["endpoint_id"],
): Promise<Failed> {
  const account = await findAccount(services, caller.user_id);
  const filter = { which: "failed", endpoint_id, maker: onlyMaker(caller) } as const;
  const keyset = { from: undefined, back: false, limit: MAX_FAILED };
  const rows = (await account?.listDeliveries(filter, keyset)) ?? [];
  const kept = rows.filter(({ data_removed }) => data_removed === false);
  return {
    deliveries: kept.map(deliveryOf).sort((a, b) => nextTry(b) - nextTry(a)),
    gone: rows.length - kept.length,
  };
}

const nextTry = ({ state, next_at }: AccountDelivery) =>
  state === "failed" ? Number.MAX_SAFE_INTEGER : (next_at ?? 0);

const deliveryOf = ({ delivery, owner, name }: ListedDelivery): AccountDelivery => {
  const { prediction_id, sequence, endpoint_id, event, at, url } = delivery;
  const { state, attempts, status, error, next_at } = delivery;
  return {
    prediction_id,
    event_id: eventId(prediction_id, sequence),
    event,
    at,
    model: owner === null || name === null ? null : `${owner}/${name}`,
    endpoint_id: endpoint_id === "" ? null : endpoint_id,
    url,
    state,
    attempts,
    status,
    error,
    next_at,
  };
};

/** An event, and its receiver: null is the prediction's own webhook. */
export interface Redelivery {
  prediction_id: string;
  event_id: string;
  endpoint_id: string | null;
}

export interface Redelivered {
  begun: number;
  /** How many events are gone: their predictions' data was removed. */
  gone: number;
  /** Why the other deliveries were not tried. */
  stopped?: string;
}

/**
 * Repeats deliveries one after the other: each counts toward the rate limit, and those beyond it are left.
 * @param count counts one.
 * @throws ProblemError too_many_requests
 */
export async function redeliverMany(
  services: Services,
  caller: Caller,
  chosen: Redelivery[],
  count: () => Promise<void>,
): Promise<Redelivered> {
  const done = { begun: 0, gone: 0 };
  for (const { prediction_id, event_id, endpoint_id } of chosen) {
    try {
      await count();
      await redeliver(services, caller, prediction_id, event_id, endpoint_id);
      done.begun += 1;
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error;
      if (error.code !== "not_found") return { ...done, stopped: error.message };
      done.gone += 1;
    }
  }
  return done;
}
