/** All promises, in the order of the table. */
import { type History, LEFTOVERS } from "../history.ts";
import { cancelsCount, nothingElseCancels, waitsCancel } from "./cancels.ts";
import { endsNeverChange, everyIdEnds, everyRowEnds } from "./ends.ts";
import { nothingTwice, oneIdPerKey } from "./keys.ts";
import { listsFollow } from "./lists.ts";
import { chatsAreHeard, outputsAreRight } from "./outputs.ts";
import type { StormPromise, Verdict } from "./promise.ts";
import { readersSeeAll } from "./readers.ts";
import { sidesAgree } from "./sides.ts";
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
    answersAreOrderly,
    ...nothingIsLeft,
  ];
  return promises.map(({ name, check }) => ({ name, ...check(history) }));
}
