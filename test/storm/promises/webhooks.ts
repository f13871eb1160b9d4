/** Webhooks arrive at least once, and can be verified. */
import { isDeepStrictEqual } from "node:util";
import { predictionWithIO } from "../../../src/protocol/prediction.ts";
import type { WebhookDelivery, WebhookEventName } from "../../../src/protocol/webhook.ts";
import { listed } from "../../journey/support/listed.ts";
import type { Delivery, End, History } from "../history.ts";
import { digest, isFinal, textOf } from "../state.ts";
import { type Breach, callIn, eachOf, type StormPromise, short } from "./promise.ts";

export const webhooksVerify: StormPromise = {
  name: "each webhook that came verifies",
  check: eachOf(
    ({ deliveries }) => deliveries,
    ({ verified, payload }) => (verified === true ? [] : [{ id: payload.id, what: verified }]),
  ),
};

/** The events of one prediction that one receiver should get, and those that it got. */
interface Telling {
  end: End;
  n: number | undefined;
  /** The ID of the endpoint; null: the prediction's own webhook. */
  endpoint: string | null;
  events: WebhookEventName[];
  /** Deliveries that arrived. */
  heard: Delivery[];
  /** The service's ledger of the deliveries. */
  ledger: { event: WebhookEventName; sequence: number; delivery: WebhookDelivery }[];
}

const onEach = (faultsOf: (telling: Telling) => string[]): StormPromise["check"] =>
  eachOf(tellingsIn, (telling): Breach[] =>
    faultsOf(telling).map((what) => ({
      id: telling.end.id,
      n: telling.n,
      what: telling.endpoint === null ? what : `at an endpoint: ${what}`,
    })),
  );

export const endsAreTold: StormPromise = {
  name: "each end that a webhook was to tell was told, as it is",
  check: onEach((telling) => [...untold(telling), ...disorder(telling.heard)]),
};

export const webhooksTakeTurns: StormPromise = {
  name: "each receiver is told one event at a time, in their order",
  check: onEach(outOfTurn),
};

function tellingsIn({ calls, endpoints, deliveries, ends }: History): Telling[] {
  const wanting = new Set(calls.filter(({ secret }) => secret).map(({ call }) => call.n));
  const heard = Map.groupBy(
    deliveries,
    ({ payload, endpoint_id }) => `${payload.id} ${endpoint_id}`,
  );
  return ends.flatMap((end) => {
    const n = callIn(end);
    // A prediction that never began has no webhooks.
    if (!end.object || !isFinal(end.object) || end.object.data_removed) return [];
    const own = n !== undefined && wanting.has(n) ? [{ id: null, events: OWN_EVENTS }] : [];
    const others = endpoints.filter(({ account }) => account === end.account);
    return [...own, ...others].map(({ id: endpoint, events }) => ({
      end,
      n,
      endpoint,
      events,
      heard: heard.get(`${end.id} ${endpoint}`) ?? [],
      ledger: end.webhooks.flatMap(({ event, sequence, deliveries }) =>
        deliveries
          .filter(({ endpoint_id }) => endpoint_id === endpoint)
          .map((delivery) => ({ event, sequence, delivery })),
      ),
    }));
  });
}

/** The events that the webhook of each call asks for, and that are delivered at least once. */
const OWN_EVENTS: WebhookEventName[] = ["started", "completed"];

/**
 * The number of failed tries after which the next one is minutes away (domain/webhooks/delivery.ts), beyond
 * the calm.
 */
const MANY = 5;
const isPutOff = ({ state, attempts }: WebhookDelivery) =>
  state === "pending" && attempts.length >= MANY;

function untold({ end: { object, log }, events, heard, ledger }: Telling): string[] {
  const undelivered = ledger.filter(
    ({ delivery }) =>
      delivery.state === "failed" || (delivery.state === "pending" && !isPutOff(delivery)),
  );
  const happened = new Set<WebhookEventName>(["completed"]);
  if (log.some(({ event, data }) => event === "status" && isStart(data))) happened.add("started");
  const missing = events.filter(
    (event) =>
      happened.has(event) &&
      !heard.some(({ payload }) => payload.webhook.event === event) &&
      !ledger.some((one) => one.event === event && isPutOff(one.delivery)),
  );
  return [
    ...missing.map((event) => `${event} was never told; its deliveries are ${short(ledger)}`),
    ...(undelivered.length === 0 ? [] : [`not delivered: ${short(undelivered)}`]),
    ...heard
      .filter(({ payload }) => payload.webhook.event === "completed")
      .filter(({ payload }) => object && !tells(payload, object))
      .map(({ payload }) => `it was told ${short(payload)}, and is ${short(object)}`),
  ];
}

const isStart = (data: unknown): boolean =>
  typeof data === "object" && data !== null && "status" in data && data.status === "started";

/** Whether a payload has the final state. Input and output over 1 MiB are left out. */
function tells(payload: Delivery["payload"], object: NonNullable<End["object"]>): boolean {
  const prediction = predictionWithIO.parse(payload);
  return payload.data_omitted
    ? textOf(listed(prediction)) === textOf(listed(object))
    : digest(prediction) === digest(object);
}

/** Returns faults of the deliveries: an event has one body, and none follows `completed`. */
function disorder(heard: Delivery[]): string[] {
  const byEvent = Map.groupBy(heard, ({ payload }) => payload.webhook.id);
  const several = [...byEvent].filter(
    ([, [first, ...others]]) =>
      first && others.some(({ payload }) => !isDeepStrictEqual(payload, first.payload)),
  );
  const end = heard.find(({ payload }) => payload.webhook.event === "completed");
  const late = heard.filter(
    ({ payload }) => end && payload.webhook.sequence > end.payload.webhook.sequence,
  );
  return [
    ...several.map(([id]) => `${id} was told in several ways`),
    ...late.map(({ payload }) => `after its end it was told ${short(payload)}`),
  ];
}

/** The time that a try may begin after its record, ms: the record has the time of the alarm. */
const BEGINS_MS = 500;

/**
 * Returns faults of the order: the first try of each event comes after that of the event before. Later tries
 * may come later.
 */
function outOfTurn({ ledger }: Telling): string[] {
  const tries = ledger.flatMap(({ event, sequence, delivery }) =>
    delivery.attempts.map(({ at, duration_ms }, n) => {
      const from = Date.parse(at);
      return { event, sequence, isFirst: n === 0, from, to: from + (duration_ms ?? 0) };
    }),
  );
  const firsts = tries.filter(({ isFirst }) => isFirst).toSorted((a, b) => a.sequence - b.sequence);
  const early = firsts.filter(
    ({ from }, n) => n > 0 && from + BEGINS_MS < (firsts[n - 1]?.from ?? 0),
  );
  const inTime = tries.toSorted((a, b) => a.from - b.from || a.to - b.to);
  const meeting = inTime.filter(
    ({ from }, n) => n > 0 && from + BEGINS_MS < (inTime[n - 1]?.to ?? 0),
  );
  return [
    ...early.map(({ event }) => `${event} was told before what came before it: ${short(ledger)}`),
    ...meeting.map(({ event }) => `${event} was told beside another: ${short(ledger)}`),
  ];
}
