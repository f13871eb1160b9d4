/** Lists are a copy, which may lag behind the predictions themselves for a short time. */
import type { Prediction } from "../../../src/protocol/prediction.ts";
import type { History, Look, Sighting } from "../history.ts";
import { isFinal } from "../state.ts";
import { type Breach, endOf, isDisturbed, type StormPromise } from "./promise.ts";

/**
 * The most that a list may lag, ms. The guides promise two seconds, and a busy machine adds some. After a
 * restart it may be minutes: this promise leaves those to `everyRowEnds`.
 */
export const LAG_MS = 5_000;
export const listsFollow: StormPromise = {
  name: "lists are 5 s behind at most, unless the control plane broke",
  check(history) {
    const listed = history.sightings.filter(({ by }) => by === "list");
    const accepted = history.calls.flatMap(({ call, accepted }) =>
      accepted.slice(0, 1).map(({ id, at }) => ({ id, at, n: call.n, account: call.account })),
    );
    const looks = Map.groupBy(history.looks, ({ account }) => account);
    const starts = startsIn(history.sightings);
    return {
      checked: listed.length + accepted.length,
      breaches: [
        ...longest(listed.flatMap((row) => behind(row, starts, history))),
        ...accepted.flatMap((one) => missing(one, looks.get(one.account) ?? [], history)),
      ],
    };
  },
};

/** Returns the last breach of each prediction, which lagged the longest. */
const longest = (breaches: Breach[]) => new Map(breaches.map((one) => [one.id, one])).values();

/** Returns the first time that a caller of each prediction itself saw it started. */
function startsIn(sightings: Sighting[]): Map<string, number> {
  const starts = new Map<string, number>();
  for (const { id, by, status, seenAt } of sightings) {
    if (by === "list" || status !== "started") continue;
    starts.set(id, Math.min(seenAt, starts.get(id) ?? seenAt));
  }
  return starts;
}

/** Returns a breach if a row has a state that was over long before. */
function behind(row: Sighting, starts: Map<string, number>, history: History): Breach[] {
  const { id, status, askedAt } = row;
  const object = endOf(history, id)?.object;
  if (!object || isFinal(row)) return [];
  const lag = (what: Prediction["status"], since: number, from: number): Breach[] =>
    askedAt <= since + LAG_MS || isDisturbed(history, from, since + LAG_MS)
      ? []
      : [{ id, what: `the list said ${status}, ${askedAt - since} ms after it was ${what}` }];
  const endedAt = Date.parse(object.updated_at);
  const startedAt = starts.get(id);
  return [
    ...(isFinal(object) ? lag(object.status, endedAt, endedAt) : []),
    ...(status === "pending" && startedAt !== undefined
      ? lag("started", startedAt, Date.parse(object.created_at))
      : []),
  ];
}

/** Returns a breach if a list does not have a prediction whose ID a caller has. */
function missing(
  { id, at, n }: { id: string; at: number; n: number },
  looks: Look[],
  history: History,
): Breach[] {
  const createdAt = Date.parse(endOf(history, id)?.object?.created_at ?? "");
  if (isDisturbed(history, createdAt, at + LAG_MS)) return [];
  const without = looks.find(
    ({ askedAt, since, ids }) => askedAt > at + LAG_MS && id > since && !ids.includes(id),
  );
  return without
    ? [{ id, n, what: `a list did not have it ${without.askedAt - at} ms after it was accepted` }]
    : [];
}
