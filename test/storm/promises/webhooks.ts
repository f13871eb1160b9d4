/** Webhooks arrive, in the end at least once, and can be verified. */
import { isDeepStrictEqual } from "node:util";
import { predictionWithIO } from "../../../src/protocol/prediction.ts";
import type { WebhookDelivery } from "../../../src/protocol/webhook.ts";
import { listed } from "../../journey/support/listed.ts";
import type { Delivery, End } from "../history.ts";
import { digest, isFinal, textOf } from "../state.ts";
import { callIn, eachOf, type StormPromise, short } from "./promise.ts";

export const webhooksVerify: StormPromise = {
  name: "each webhook that came verifies",
  check: eachOf(
    ({ deliveries }) => deliveries,
    ({ verified, payload, n }) =>
      verified === true ? [] : [{ id: payload.id, n, what: verified }],
  ),
};

export const endsAreTold: StormPromise = {
  name: "each end that a webhook was to tell was told, as it is",
  check(history) {
    const wanting = new Set(history.calls.filter(({ secret }) => secret).map(({ call }) => call.n));
    const byId = Map.groupBy(history.deliveries, ({ payload }) => payload.id);
    const told = history.ends.filter((end) => {
      const n = callIn(end);
      return end.object && isFinal(end.object) && n !== undefined && wanting.has(n);
    });
    const breaches = told.flatMap((end) => {
      const own = byId.get(end.id) ?? [];
      return [...untold(end, own), ...disorder(own)].map((what) => ({
        id: end.id,
        n: callIn(end),
        what,
      }));
    });
    return { checked: told.length, breaches };
  },
};

/**
 * After so many tries that something broke the next one is minutes away (domain/webhooks/schedule.ts),
 * and the calm is shorter.
 */
const MANY = 5;
const isPutOff = ({ state, attempts }: WebhookDelivery) =>
  state === "pending" && attempts.length >= MANY;

function untold({ object, webhooks }: End, own: Delivery[]): string[] {
  const completed = own.filter(({ payload }) => payload.webhook.event === "completed");
  const undelivered = webhooks.flatMap(({ event, deliveries }) =>
    deliveries
      .filter((one) => one.state === "failed" || (one.state === "pending" && !isPutOff(one)))
      .map((one) => [event, one]),
  );
  const isPending = webhooks.some(({ deliveries }) => deliveries.some(isPutOff));
  return [
    ...(completed.length > 0 || isPending
      ? []
      : [`it was never told; its deliveries are ${short(webhooks)}`]),
    ...(undelivered.length === 0 ? [] : [`not delivered: ${short(undelivered)}`]),
    ...completed
      .filter(({ payload }) => object && !tells(payload, object))
      .map(({ payload }) => `it was told ${short(payload)}, and is ${short(object)}`),
  ];
}

/** Input and output over 1 MiB are left out. */
function tells(payload: Delivery["payload"], object: NonNullable<End["object"]>): boolean {
  const prediction = predictionWithIO.parse(payload);
  return payload.data_omitted
    ? textOf(listed(prediction)) === textOf(listed(object))
    : digest(prediction) === digest(object);
}

/** Of one event there is one body, and no event after `completed`. */
function disorder(own: Delivery[]): string[] {
  const byEvent = Map.groupBy(own, ({ payload }) => payload.webhook.id);
  const several = [...byEvent].filter(
    ([, [first, ...others]]) =>
      first && others.some(({ payload }) => !isDeepStrictEqual(payload, first.payload)),
  );
  const end = own.find(({ payload }) => payload.webhook.event === "completed");
  const late = own.filter(
    ({ payload }) => end && payload.webhook.sequence > end.payload.webhook.sequence,
  );
  return [
    ...several.map(([id]) => `${id} was told in several ways`),
    ...late.map(({ payload }) => `after its end it was told ${short(payload)}`),
  ];
}
