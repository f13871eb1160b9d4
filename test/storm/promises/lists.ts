/** Lists are a copy, which may lag behind the predictions themselves, but not for long. */
import type { Prediction } from "../../../src/protocol/prediction.ts";
import type { History, Look, Sighting } from "../history.ts";
import { isFinal } from "../state.ts";
import { type Breach, endOf, isDisturbed, type StormPromise } from "./promise.ts";

/**
 * The guides promise two seconds, and a busy machine adds some. After a restart it may be minutes: then
 * nothing is said here, and `everyRowEnds` lets them pass.
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

/** Of each prediction the last one: it lagged the longest. */
const longest = (breaches: Breach[]) => new Map(breaches.map((one) => [one.id, one])).values();

/** When each was first known to be started, by whoever asked itself. */
function startsIn(sightings: Sighting[]): Map<string, number> {
  const starts = new Map<string, number>();
  for (const { id, by, status, seenAt } of sightings) {
    if (by === "list" || status !== "started") continue;
    starts.set(id, Math.min(seenAt, starts.get(id) ?? seenAt));
  }
  return starts;
}

/** A row that says what has long been over. */
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

/** One whose id somebody has, and which a list does not have. */
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
