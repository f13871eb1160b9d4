/** A prediction is the same from every side: in the list, by itself, in the export, in its log. */
import { listed } from "../../journey/support/listed.ts";
import type { End, Event, History } from "../history.ts";
import { digest, isFinal, textOf } from "../state.ts";
import { eachOf, type StormPromise, short } from "./promise.ts";

export const sidesAgree: StormPromise = {
  name: "list, prediction, export and log say the same",
  check: eachOf(
    ({ ends }) => ends.filter(({ object }) => object && isFinal(object)),
    (end, history) => {
      const faults = hasBegun(end)
        ? [...endingOf(end), ...faultsOf(end), ...gapsOf(end, history)]
        : [];
      return [...differences(end), ...faults].map((what) => ({ id: end.id, what }));
    },
  ),
};

/**
 * Whether a prediction has begun. A create whose object died before it stored anything leaves a row, which
 * its account ends later. No caller got its ID, and it has no log.
 */
const hasBegun = ({ object, log }: End) => object?.data_removed === false || log.length > 0;

function differences({ object, row, exported }: End): string[] {
  if (!object) return [];
  const itself = listed(object);
  return [
    ...(textOf(row) === textOf(itself)
      ? []
      : [`the list has ${short(row)}, it is ${short(itself)}`]),
    ...(exported && digest(exported) === digest(object)
      ? []
      : [`the export has ${short(exported)}, it is ${short(itself)}`]),
  ];
}

function endingOf({ object, log }: End): string[] {
  const done = log.at(-1)?.data;
  const isSame = object && textOf(done) === textOf(listed(object));
  return isSame ? [] : [`its log ends with ${short(done)}`];
}

/**
 * Returns faults of a log: its IDs rise from 1, and its one final status comes last but for `error` and
 * `done`.
 */
function faultsOf({ log, object }: End): string[] {
  const ids = log.map(({ id }) => id);
  const rises = ids.every((id, n) => id > (ids[n - 1] ?? 0));
  const statuses = log.filter(({ event }) => event === "status").map(statusOf);
  const finals = statuses.filter((status) => isFinal({ status }));
  const dones = log.filter(({ event }) => event === "done");
  return [
    ...(rises && ids[0] === 1 ? [] : [`the ids of its log are ${short(ids)}`]),
    ...(finals.length === 1 && finals[0] === object?.status && statuses.at(-1) === finals[0]
      ? []
      : [`it is ${object?.status}, and its log says ${statuses}`]),
    ...(dones.length === 1 && log.at(-1) === dones[0] ? [] : ["`done` is not the end of its log"]),
  ];
}

const statusOf = ({ data }: Event): string =>
  typeof data === "object" && data !== null && "status" in data ? String(data.status) : "";

/** The time until a death is noticed, ms. */
const AROUND_MS = 10_000;

/** The time without calls after which workerd unloads an object, ms (server.c++). */
const IDLE_MS = 10_000;

/**
 * Returns gaps of a log that nothing explains. Only an object that is loaded again leaves a gap, because it
 * takes an ID beyond all that it may have shown: its control plane died, or it was unloaded between two
 * calls, as between a failed offer and the next.
 */
function gapsOf({ log, object }: End, { faults }: History): string[] {
  const gaps = log.slice(1).filter(({ id }, n) => id > (log[n]?.id ?? 0) + 1).length;
  const began = Date.parse(object?.created_at ?? "");
  const ended = Date.parse(object?.updated_at ?? "");
  const deaths = faults.filter(
    ({ at, what }) =>
      at > began - AROUND_MS &&
      at < ended + AROUND_MS &&
      /^control plane: (kill|power cut)/.test(what),
  ).length;
  const rests = Math.floor((ended - began) / IDLE_MS);
  return gaps <= deaths + rests
    ? []
    : [
        `its log has ${gaps} gaps: the control plane died ${deaths} times, and it could be idle ${rests} times`,
      ];
}
