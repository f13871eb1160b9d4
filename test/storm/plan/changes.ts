/** The changes that end the access of a caller, at times of the seed. */
import type { Call } from "./calls.ts";
import { between, samples } from "./seeded.ts";
import { CALLERS, type Caller } from "./teams.ts";

/** The caller whose access each change ends. */
export const LOSERS = {
  removal: "cyd@acme",
  demotion: "bob@acme",
  unshare: "cyd@zeta",
} as const satisfies Record<string, Caller>;
export type ChangeName = keyof typeof LOSERS;
const CHANGES = ["removal", "demotion", "unshare"] as const;

export interface ChangePlan {
  what: ChangeName;
  /** Time since the storm began, ms. */
  at: number;
}

/** Whether a change ends the access of a caller to the predictions of a call. */
export function takes(what: ChangeName, by: Caller, call: Pick<Call, "by" | "work">): boolean {
  if (by !== LOSERS[what]) return false;
  if (what === "demotion") return call.by !== by;
  return what === "removal" || call.work.kind === "stream";
}

/** Returns the changes at times in the middle of the storm. @param duration of the storm, ms */
export const changesOf = (seed: number, duration: number): ChangePlan[] =>
  samples(between(20, 60), seed, CHANGES.length).map((percent, n) => ({
    what: CHANGES[n] ?? "removal",
    at: Math.round((duration * percent) / 100),
  }));

/** Time from the begin of a stream to the change that ends it, ms. */
const BEFORE_MS = 3_000;

/** Returns for each change a stream of 18 s that its loser reads when the change comes. */
export const watchedCalls = (changes: ChangePlan[], first: number): Call[] =>
  changes.map(({ what, at }, index): Call => {
    const loser = LOSERS[what];
    const by = what === "demotion" ? "ada@acme" : loser;
    const n = first + index;
    return {
      n,
      mark: `storm-${n}-`,
      at: Math.max(0, at - BEFORE_MS),
      by,
      account: CALLERS[by].account,
      key: -1,
      overCable: false,
      boxed: false,
      work: { kind: "stream", tokens: 200, every: 90, text: 0 },
      parallel: undefined,
      webhook: undefined,
      cancelAfter: undefined,
      readers: [{ joinsAfter: 0, stays: [], away: 200, isEventSource: false, by: loser }],
    };
  });
