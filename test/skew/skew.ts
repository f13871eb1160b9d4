/** What is old and what is new in the minutes after a deploy, or after one that was taken back. */

import type { UnpackedRelease } from "./release.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** What is old beside what is new; undefined where all is new. */
    skew: Skew | undefined;
    release: UnpackedRelease;
  }
}

export const CLASSES = ["PredictionObject", "AccountObject", "PoolObject", "RunnerObject"];

/** The parts that run the code of the last release. */
export interface Skew {
  worker: boolean;
  runners: boolean;
  classes: string[];
}

const without = (...classes: string[]) => CLASSES.filter((one) => !classes.includes(one));

export const NONE_OLD: Skew = { worker: false, runners: false, classes: [] };

export const SKEWS: Record<string, Skew> = {
  // Objects at work keep their code; the runner was updated first.
  "old objects": { worker: false, runners: false, classes: CLASSES },
  // Those that are always at work keep it longest, and runners are updated last.
  "old pools, accounts and runners": {
    worker: false,
    runners: true,
    classes: without("PredictionObject"),
  },
  "old predictions": { worker: false, runners: false, classes: ["PredictionObject"] },
  // A location that the deploy has not reached, or a deploy that was taken back.
  "an old Worker": { worker: true, runners: false, classes: [] },
  "an old Worker with old predictions and runners": {
    worker: true,
    runners: true,
    classes: ["PredictionObject"],
  },
};

/** Which script answers requests, and which has the classes that the other has not. */
export function scriptsOf(old: Skew, scripts: { old: string; new: string }) {
  return old.worker
    ? { script: scripts.old, beside: { script: scripts.new, classes: without(...old.classes) } }
    : { script: scripts.new, beside: { script: scripts.old, classes: old.classes } };
}
