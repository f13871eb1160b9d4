/** All promises, in the order of the table. */

import { isDeepStrictEqual } from "node:util";
import { listed } from "../../journey/support/listed.ts";
import { wordsOf } from "../callers/chat.ts";
import {
  type End,
  type Event,
  type History,
  LEFTOVERS,
  type MadeCall,
  type Sighting,
} from "../history.ts";
import type { Call } from "../plan/calls.ts";
import { digest, isFinal, textOf } from "../state.ts";
import { cancelsCount, nothingElseCancels, waitsCancel } from "./cancels.ts";
import { listsFollow } from "./lists.ts";
import { limitsHold, moneyAddsUp } from "./money.ts";
import {
  type Breach,
  callIn,
  eachOf,
  endOf,
  type StormPromise,
  short,
  type Verdict,
} from "./promise.ts";
import { readersSeeAll } from "./readers.ts";
import { accessEnds, keysAreOwn, listsShowOwn, removedStay } from "./teams.ts";
import { endsAreTold, webhooksTakeTurns, webhooksVerify } from "./webhooks.ts";

export interface Checked extends Verdict {
  name: string;
}

const answersAreOrderly: StormPromise = {
  name: "no answer was of a kind that nobody should get",
  check: ({ calls, oddities }) => ({
    checked: calls.length,
    breaches: oddities.map(({ what, answer, id, n }) => ({ id, n, what: `${what}: ${answer}` })),
  }),
};

const nothingIsLeft: StormPromise[] = LEFTOVERS.map((what) => ({
  name: `no ${what} is left`,
  check: ({ leftovers }) => {
    const own = leftovers.filter((one) => one.what === what);
    return {
      checked: own.reduce((sum, { looked }) => sum + looked, 0),
      breaches: own.flatMap(({ found }) => found.map((what) => ({ what }))),
    };
  },
}));

/** @param pictures see `outputsAreRight` */
export function checkAll(history: History, pictures: string[]): Checked[] {
  const promises = [
    everyIdEnds,
    everyRowEnds,
    endsNeverChange,
    listsFollow,
    sidesAgree,
    oneIdPerKey,
    nothingTwice,
    readersSeeAll,
    outputsAreRight(pictures),
    chatsAreHeard,
    cancelsCount,
    waitsCancel,
    nothingElseCancels,
    webhooksVerify,
    endsAreTold,
    webhooksTakeTurns,
    listsShowOwn,
    accessEnds,
    removedStay,
    keysAreOwn,
    limitsHold,
    moneyAddsUp,
    answersAreOrderly,
    ...nothingIsLeft,
  ];
  return promises.map(({ name, check }) => ({ name, ...check(history) }));
}

const everyIdEnds: StormPromise = {
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

const everyRowEnds: StormPromise = {
  name: "each listed prediction has ended, also where nobody got its id",
  check: eachOf(
    ({ ends }) => ends.flatMap(({ id, row }) => (row ? [{ id, row }] : [])),
    ({ id, row }): Breach[] =>
      isFinal(row) ? [] : [{ id, what: `the list still says ${row.status}` }],
  ),
};

const endsNeverChange: StormPromise = {
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

const oneIdPerKey: StormPromise = {
  name: "all answers under one key name one prediction",
  check: eachOf(
    ({ calls }) => calls.filter(({ call, accepted }) => call.parallel && accepted.length > 0),
    ({ call, accepted }) => {
      const ids = [...new Set(accepted.map(({ id }) => id))];
      return ids.length === 1 ? [] : [{ n: call.n, what: `under its key are ${ids}` }];
    },
  ),
};

const nothingTwice: StormPromise = {
  name: "no create has made more predictions than it was sent, and under a key one",
  check(history) {
    const made = new Map<number, string[]>();
    for (const end of history.ends) {
      const n = callIn(end);
      if (n !== undefined) made.set(n, [...(made.get(n) ?? []), end.id]);
    }
    const breaches = history.calls.flatMap(({ call, sent }) => {
      const ids = made.get(call.n) ?? [];
      if (ids.length <= (call.parallel ? 1 : sent)) return [];
      return [{ n: call.n, id: ids[0], what: `sent ${sent} times, it has made ${ids}` }];
    });
    return { checked: made.size, breaches };
  },
};

/** @param pictures hashes of the expected pictures, one for each choice of colours */
const outputsAreRight = (pictures: string[]): StormPromise => ({
  name: "what succeeded has the output that was asked for",
  check(history) {
    const calls = new Map(history.calls.map((made) => [made.call.n, made]));
    const succeeded = history.ends.filter(({ object }) => object?.status === "succeeded");
    const texts = new Map<number, string[]>();
    const breaches = succeeded.flatMap((end) => {
      const n = callIn(end);
      const made = n === undefined ? undefined : calls.get(n);
      if (!made) return [];
      const fault = faultOf(end, made.call, pictures, texts);
      return fault === undefined ? [] : [{ id: end.id, n, what: fault }];
    });
    return { checked: succeeded.length, breaches };
  },
});

function faultOf(
  end: End,
  { mark, work }: Call,
  pictures: string[],
  texts: Map<number, string[]>,
): string | undefined {
  const { object, picture } = end;
  const output = object?.output ?? null;
  const wrong = (expected: unknown) => `it put out ${short(output)}, not ${short(expected)}`;
  switch (work.kind) {
    case "hello":
      return output === `Hello, ${mark}!` ? undefined : wrong(`Hello, ${mark}!`);
    case "sums": {
      const result = work.numbers.reduce((sum, number) => sum + number, 0);
      const expected = { operation: "sum", count: work.numbers.length, result };
      return isDeepStrictEqual(output, expected) ? undefined : wrong(expected);
    }
    case "large": {
      const isRight = typeof output === "string" && output.length === work.letters;
      return isRight ? undefined : wrong(`${work.letters} letters`);
    }
    case "picture":
      return picture === pictures[work.colours] ? undefined : `its picture is ${picture}`;
    case "stream":
      return wrongText(output, end, work.text, texts);
    default:
      return undefined;
  }
}

/**
 * Returns the fault in a text. One seed writes one text, at several lengths, and the output is that of the
 * log.
 */
function wrongText(
  output: unknown,
  { log }: End,
  seed: number,
  texts: Map<number, string[]>,
): string | undefined {
  const pieces = log.filter(({ event }) => event === "output").map(({ data }) => data);
  if (!Array.isArray(output) || !isDeepStrictEqual(output, pieces))
    return `it put out ${short(output)}, and its log has ${short(pieces)}`;
  const known = texts.get(seed) ?? [];
  const length = Math.min(known.length, output.length);
  if (!isDeepStrictEqual(known.slice(0, length), output.slice(0, length)))
    return `it put out ${short(output)}, another of its seed ${short(known)}`;
  if (output.length > known.length) texts.set(seed, output.map(String));
  return undefined;
}

const chatsAreHeard: StormPromise = {
  name: "a chat or response that was heard to its end was heard whole",
  check(history) {
    const heard = history.calls.filter((made) => made.heard !== undefined);
    return { checked: heard.length, breaches: heard.flatMap((made) => mishearing(made, history)) };
  },
};

function mishearing({ call, heard, accepted }: MadeCall, history: History): Breach[] {
  if (call.work.kind !== "chat" && call.work.kind !== "response") return [];
  const id = accepted.at(-1)?.id ?? "";
  const said = wordsOf(call, call.work.words).join("");
  const status = endOf(history, id)?.object?.status;
  return [
    ...(heard === said
      ? []
      : [{ id, n: call.n, what: `it heard ${short(heard)}, not ${short(said)}` }]),
    ...(status === "succeeded"
      ? []
      : [{ id, n: call.n, what: `it was heard whole, and is ${status}` }]),
  ];
}

const sidesAgree: StormPromise = {
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
  // Events name no maker.
  const isSame = object && textOf(done) === textOf({ ...listed(object), created_by: null });
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
