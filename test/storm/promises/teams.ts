/** The promises to organizations: who sees what, and how soon an access ends (guides/teams.md). */
import { hasRole } from "../../../src/domain/accounts/access.ts";
import type { Role } from "../../../src/protocol/organization.ts";
import type { AccessChange, History, MadeCall, Reading } from "../history.ts";
import { LOSERS, takes } from "../plan/changes.ts";
import { CALLERS, type Caller } from "../plan/teams.ts";
import { isFinal } from "../state.ts";
import { type Breach, callIn, eachOf, endOf, type StormPromise } from "./promise.ts";

/** Returns the change that ended a reader's access, if any did. */
export function changeFor(history: History, { id, by }: Reading): AccessChange | undefined {
  const end = endOf(history, id);
  const n = end && callIn(end);
  const made = history.calls.find(({ call }) => call.n === n);
  return made && history.changes.find(({ what }) => takes(what, by, made.call));
}

/** Returns the role after the changes; undefined for a removed member. */
function roleOf({ changes }: History, by: Caller): Role | undefined {
  const change = changes.find(({ what }) => LOSERS[what] === by)?.what;
  if (change === "removal") return undefined;
  return change === "demotion" ? "member" : CALLERS[by].role;
}

export const listsShowOwn: StormPromise = {
  name: "lists show each caller what the role allows, and nothing else",
  check: eachOf(
    ({ lists }) => lists,
    ({ by, ids }, history): Breach[] => {
      const role = roleOf(history, by);
      if (!role) return ids ? [{ what: `${by} was removed, and still has a list` }] : [];
      if (!ids) return [{ what: `${by} was refused its list` }];
      const listed = new Set(ids);
      const makers = new Map(history.calls.map(({ call }) => [call.n, call.by]));
      return history.ends.flatMap((end): Breach[] => {
        const n = callIn(end);
        const maker = n === undefined ? undefined : makers.get(n);
        // The maker of a prediction whose input was lost is unknown.
        if (maker === undefined || !end.row) return [];
        const isAllowed =
          end.account === CALLERS[by].account && (maker === by || hasRole({ role }, "developer"));
        if (isAllowed === listed.has(end.id)) return [];
        const what = `the list of ${by} ${isAllowed ? "lacks" : "has"} what ${maker} made`;
        return [{ id: end.id, n, what }];
      });
    },
  ),
};

/** The time within which a change takes effect everywhere, ms. */
const EFFECT_MS = 10_000;
/** The time that a busy machine adds, ms. */
const LATE_MS = 3_000;

export const accessEnds: StormPromise = {
  name: "streams end 10 s after the access of their reader, plus what the storm held up",
  check: eachOf(
    (history) =>
      history.readings.flatMap((reading) => {
        const change = changeFor(history, reading);
        return change ? [{ reading, change }] : [];
      }),
    ({ reading: { id, by, connections }, change }, history): Breach[] => {
      if (change.doneAt === null) return [{ id, what: `the ${change.what} was never carried out` }];
      const from = change.doneAt;
      const last = Math.max(...connections.map(({ lastAt }) => lastAt ?? 0));
      // An account can read what it has run of a shared model once that has ended.
      const endedAt = Date.parse(endOf(history, id)?.object?.updated_at ?? "");
      if (change.what === "unshare" && last >= endedAt) return [];
      if (last <= from + EFFECT_MS + LATE_MS + heldUp(history, from, last)) return [];
      return [{ id, what: `${by} got an event ${last - from} ms after the ${change.what}` }];
    },
  ),
};

/** Returns how long the storm held up the control plane or the callers between two times, ms. */
const heldUp = ({ faults }: History, from: number, to: number): number =>
  faults
    .filter(({ what }) => what.startsWith("control plane") || what.startsWith("cable of callers"))
    .reduce((sum, { at, ms }) => sum + Math.max(0, Math.min(to, at + ms) - Math.max(from, at)), 0);

export const removedStay: StormPromise = {
  name: "what a removed member has run stays in the organization's list, and has ended",
  check: eachOf(
    ({ calls, changes }) =>
      changes
        .filter(({ what }) => what === "removal")
        .flatMap(({ what }) => calls.filter(({ call }) => call.by === LOSERS[what]))
        .flatMap(({ call, accepted }) => accepted.slice(0, 1).map(({ id }) => ({ id, n: call.n }))),
    ({ id, n }, history): Breach[] => {
      const row = endOf(history, id)?.row;
      if (row && isFinal(row)) return [];
      return [{ id, n, what: `the organization lists it as ${row?.status ?? "nothing"}` }];
    },
  ),
};

/** The callers number their keys alike, so each key is used by several members of an organization. */
export const keysAreOwn: StormPromise = {
  name: "the same key of two members names two predictions",
  check: eachOf(
    ({ calls }) =>
      [
        ...Map.groupBy(
          calls.filter(({ call, accepted }) => call.parallel && accepted.length > 0),
          ({ call }) => `${call.account} ${call.key}`,
        ).values(),
      ].filter((made) => made.length > 1),
    (made) => sharedIds(made).map(({ id, n }) => ({ id, n, what: "two members have got it" })),
  ),
};

function sharedIds(made: MadeCall[]): { id: string; n: number }[] {
  const makers = new Map<string, Caller>();
  return made.flatMap(({ call, accepted }) =>
    [...new Set(accepted.map(({ id }) => id))].flatMap((id) => {
      const other = makers.get(id) ?? call.by;
      makers.set(id, other);
      return other === call.by ? [] : [{ id, n: call.n }];
    }),
  );
}
