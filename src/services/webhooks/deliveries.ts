/** Lists the webhook deliveries of a prediction, and repeats one. */

import { withoutQuery } from "../../domain/webhooks/address.ts";
import type { Delivery } from "../../domain/webhooks/delivery.ts";
import { eventId, sequenceOf } from "../../domain/webhooks/delivery-row.ts";
import { conflict, notFound } from "../../errors/errors.ts";
import type { EventDeliveries } from "../../objects/prediction/rpc-types.ts";
import type { WebhookDelivery, WebhookEvent } from "../../protocol/webhook.ts";
import { getCachedEndpoint } from "../../storage/webhooks/endpoint-cache.ts";
import type { Caller } from "../accounts/caller.ts";
import { onePage, type Page } from "../pagination.ts";
import { predictionStub } from "../predictions/predictions.ts";
import type { Services } from "../services.ts";

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
const IS_GONE = "The endpoint has been deleted: nothing can be sent to it.";

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
