/** The latest webhook deliveries of all predictions of an account, and delivering many of them again. */

import { type DeliveryFilter, eventId } from "../../domain/webhooks/delivery-row.ts";
import { ProblemError } from "../../errors/errors.ts";
import type { ListedDelivery } from "../../objects/account/rpc-types.ts";
import type { DeliveryState, WebhookEventName } from "../../protocol/webhook.ts";
import { findAccount } from "../accounts/account-object.ts";
import type { Caller } from "../accounts/caller.ts";
import { type Page, type PageRequest, paginate } from "../pagination.ts";
import type { Services } from "../services.ts";
import { redeliver } from "./deliveries.ts";

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

/** Lists deliveries, those of the newest prediction first. */
export async function listAccountDeliveries(
  services: Services,
  { user_id }: Caller,
  filter: DeliveryFilter,
  request: PageRequest,
): Promise<Page<AccountDelivery>> {
  const account = await findAccount(services, user_id);
  const { which = "", endpoint_id } = filter;
  return paginate(services, request, {
    name: `deliveries/${user_id}?${JSON.stringify([which, endpoint_id])}`,
    find: async (keyset) => (await account?.listDeliveries(filter, keyset)) ?? [],
    keyOf: ({ delivery: { prediction_id, sequence, endpoint_id } }) => [
      prediction_id,
      sequence,
      endpoint_id,
    ],
    present,
  });
}

/** The most failed deliveries that are listed: more than are kept, since they are trimmed late. */
const MAX_FAILED = 600;

export interface Failed {
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

/** Returns all deliveries that failed. @param endpoint_id as in DeliveryFilter */
export async function listFailed(
  services: Services,
  { user_id }: Caller,
  endpoint_id: DeliveryFilter["endpoint_id"],
): Promise<Failed> {
  const account = await findAccount(services, user_id);
  const keyset = { from: undefined, back: false, limit: MAX_FAILED };
  const rows = (await account?.listDeliveries({ which: "failed", endpoint_id }, keyset)) ?? [];
  const kept = rows.filter(({ data_removed }) => data_removed === false);
  return {
    deliveries: kept.map(present).sort((a, b) => nextTry(b) - nextTry(a)),
    gone: rows.length - kept.length,
  };
}

const nextTry = ({ state, next_at }: AccountDelivery) =>
  state === "failed" ? Number.MAX_SAFE_INTEGER : (next_at ?? 0);

const present = ({ delivery, owner, name }: ListedDelivery): AccountDelivery => {
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
  /** How many deliveries have begun. */
  begun: number;
  /** How many events are gone: their predictions' data was removed. */
  gone: number;
  /** Why the other deliveries were not tried. */
  stopped?: string;
}

/** How many deliveries a request may repeat that were not chosen one by one: they take a few seconds. */
export const MOST_AT_ONCE = 100;

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
