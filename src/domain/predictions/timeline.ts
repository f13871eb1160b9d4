/** When what happened in the life of a prediction: from the times in its log, and its resource. */
import type { LogEvent, SetupProgress } from "../../protocol/event.ts";
import type { Prediction } from "../../protocol/prediction.ts";
import { isTerminal } from "./state.ts";

type Phase = Exclude<SetupProgress["phase"], "ready">;

/** An attempt that has begun, and whose runner was lost or has handed it back. */
export interface GoneAttempt {
  why: "lost" | "returned";
  from: number | null;
  to: number;
}

/** Times from the event log, unix ms: null for what has not happened. */
export interface Moments {
  /** The attempts that came to nothing: of what their runners did only the time is told. */
  gone: GoneAttempt[];
  /** When the last of them was given it. */
  started: number | null;
  phases: { phase: Phase; at: number }[];
  ready: number | null;
  output: number | null;
  ended: number | null;
}

export const NO_MOMENTS: Moments = {
  gone: [],
  started: null,
  phases: [],
  ready: null,
  output: null,
  ended: null,
};

/** The moments with the next event of the log, which was written `at`. */
export function withEvent(moments: Moments, { event, data }: LogEvent, at: number): Moments {
  switch (event) {
    case "status": {
      const { gone, started } = moments;
      if (data.attempt !== undefined) return { ...NO_MOMENTS, gone, started: at };
      if (data.lost === undefined && data.returned === undefined) return moments;
      const why = data.lost === undefined ? "returned" : "lost";
      return { ...NO_MOMENTS, gone: [...gone, { why, from: started, to: at }] };
    }
    case "setup": {
      const { phase } = data;
      if (phase === "ready") return { ...moments, ready: moments.ready ?? at };
      if (moments.phases.at(-1)?.phase === phase) return moments;
      return { ...moments, phases: [...moments.phases, { phase, at }] };
    }
    case "output":
    case "stored":
      return moments.output === null ? { ...moments, output: at } : moments;
    case "done":
      return { ...moments, ended: at };
    default:
      return moments;
  }
}

export interface Step {
  what: "created" | "gone" | "queued" | "setup" | "started" | "output" | "done";
  state: "past" | "current" | "ahead";
  /** When it began, unix ms; null where nobody knows any more. */
  at: number | null;
  /**
   * How long it took; null while it goes on, and where nobody knows any more. Of the first output
   * since the model was started, of the end since the prediction was created; of the queue without
   * the attempts that came to nothing.
   */
  seconds: number | null;
  /** Of an attempt that came to nothing: the how manyth that had begun, and why. */
  attempt?: { number: number; why: GoneAttempt["why"] };
  /** Of the setup: what it was about, and for how long. */
  phases?: { phase: Phase; seconds: number | null }[];
}

/** What a resource tells of times. */
export type Timed = Pick<
  Prediction,
  "created_at" | "updated_at" | "status" | "setup_time" | "execution_time"
>;

/**
 * Its steps in order: those that are over, the one that goes on and those ahead; of one that has
 * ended those that it took. A runner measures setup and run itself, and what it says counts: a
 * short run is reported in one frame, which was written when all was over.
 */
export function timeline(moments: Moments, prediction: Timed): Step[] {
  const created = Date.parse(prediction.created_at);
  const ended = isTerminal(prediction.status)
    ? (moments.ended ?? Date.parse(prediction.updated_at))
    : null;
  const setupMs = msOf(prediction.setup_time);
  const ready = within(
    created,
    earlier(moments.ready, before(ended, msOf(prediction.execution_time))),
  );
  const begun = within(created, earlier(moments.started, before(ready, setupMs)));
  const gone = moments.gone.map(({ why, from, to }, n): Step => {
    const at = within(created, from);
    const attempt = { number: n + 1, why };
    return { what: "gone", state: "past", at, seconds: secondsOf(span(at, to)), attempt };
  });
  const lostMs = gone.reduce((sum, { seconds }) => sum + (seconds ?? 0) * 1000, 0);
  const queuedUntil = begun ?? ended;
  const queuedMs = queuedUntil === null ? null : Math.max(0, queuedUntil - created - lostMs);
  const output = moments.output && Math.max(moments.output, ready ?? begun ?? created);

  const step = (
    what: Step["what"],
    at: number | null,
    until: number | null,
    ms?: number | null,
  ) => ({
    what,
    state: stateOf(at, until ?? ended),
    at,
    seconds: secondsOf(ms ?? span(at, until ?? ended)),
  });
  const setup = {
    ...step("setup", begun, ready, setupMs),
    phases: moments.phases.map(({ phase, at }, n) => ({
      phase,
      // What was reported at once was not at once.
      seconds: secondsOf(span(at, moments.phases[n + 1]?.at ?? ready ?? ended) || null),
    })),
  };
  const steps: Step[] = [
    { what: "created", state: "past", at: created, seconds: null },
    ...gone,
    step("queued", within(created, moments.gone.at(-1)?.to ?? created), begun, queuedMs),
    setup,
    step("started", ready, ended, msOf(prediction.execution_time)),
    { ...step("output", output, output), seconds: secondsOf(span(ready, output)) },
    { ...step("done", ended, ended), seconds: secondsOf(span(created, ended)) },
  ];
  return ended === null
    ? steps
    : steps.filter(({ at, seconds }) => at !== null || seconds !== null);
}

const stateOf = (at: number | null, until: number | null): Step["state"] => {
  if (until !== null) return "past";
  return at === null ? "ahead" : "current";
};

/** Clocks of two machines: nothing was before it was created. */
const within = (created: number, at: number | null) => at && Math.max(at, created);

const before = (at: number | null, ms: number | null) =>
  at === null || ms === null ? null : at - ms;

const earlier = (a: number | null, b: number | null) =>
  a === null || b === null ? (a ?? b) : Math.min(a, b);

const span = (from: number | null, to: number | null) =>
  from === null || to === null ? null : Math.max(0, to - from);

const msOf = (seconds: string | null) => (seconds === null ? null : Number(seconds) * 1000);
const secondsOf = (ms: number | null) => (ms === null ? null : ms / 1000);
