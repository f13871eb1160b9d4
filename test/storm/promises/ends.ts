/** Every prediction has one end, which never changes. */
import type { History, Sighting } from "../history.ts";
import { digest, isFinal } from "../state.ts";
import { type Breach, eachOf, endOf, type StormPromise, short } from "./promise.ts";

export const everyIdEnds: StormPromise = {
  name: "each accepted id is found, and has ended",
  check: eachOf(
    ({ calls }) =>
      calls.flatMap(({ call, accepted }) =>
        [...new Set(accepted.map(({ id }) => id))].map((id) => ({ id, n: call.n })),
      ),
    ({ id, n }, history): Breach[] => {
      const end = endOf(history, id);
      if (!end?.object) return [{ id, n, what: "it was accepted, and is not found" }];
      // The storm has removed nothing yet, so removed data means that the account ended a prediction that had
      // not begun.
      if (end.object.data_removed) return [{ id, n, what: "it was accepted, and never began" }];
      if (isFinal(end.object)) return [];
      return [{ id, n, what: `it is still ${end.object.status}` }];
    },
  ),
};

export const everyRowEnds: StormPromise = {
  name: "each listed prediction has ended, also where nobody got its id",
  check: eachOf(
    ({ ends }) => ends.flatMap(({ id, row }) => (row ? [{ id, row }] : [])),
    ({ id, row }): Breach[] =>
      isFinal(row) ? [] : [{ id, what: `the list still says ${row.status}` }],
  ),
};

export const endsNeverChange: StormPromise = {
  name: "an end that was seen never changed",
  check: eachOf(
    ({ sightings }) => [...Map.groupBy(sightings, ({ id }) => id)],
    ([id, sightings], history) => changesOf(history, id, sightings).map((what) => ({ id, what })),
  ),
};

function changesOf(history: History, id: string, sightings: Sighting[]): string[] {
  const object = endOf(history, id)?.object;
  const bodies = new Set(sightings.flatMap(({ body }) => body ?? []));
  if (object && isFinal(object)) bodies.add(digest(object));
  // Lists may lag behind the prediction itself, but not behind themselves.
  const [listed, itself] = [true, false].map((isList) =>
    sightings.filter(({ by }) => (by === "list") === isList),
  );
  return [
    ...goneBack(listed ?? []),
    ...goneBack(itself ?? []),
    ...(bodies.size > 1 ? [`it ended in ${bodies.size} ways: ${short(sightings)}`] : []),
  ];
}

/** Returns answers to requests after an end was seen that do not have the end. */
function goneBack(sightings: Sighting[]): string[] {
  const ends = sightings.filter(isFinal);
  const first = Math.min(...ends.map(({ seenAt }) => seenAt));
  const end = ends.find(({ seenAt }) => seenAt === first);
  return sightings
    .filter(({ status, askedAt }) => askedAt > first && status !== end?.status)
    .map(({ status, by }) => `it was ${end?.status}, and then ${status} (${by})`);
}
