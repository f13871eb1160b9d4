/** The steps in the life of a prediction and their times, from its event log and its resource, and its progress. */
import type { LogEvent, SetupProgress } from "../../protocol/event.ts";
import type { Prediction } from "../../protocol/prediction.ts";
import { isTerminal } from "./status.ts";

type Phase = Exclude<SetupProgress["phase"], "ready">;

/** An attempt that started and whose runner was lost or handed it back. */
export interface FailedAttempt {
  /** The number of the attempt among all that were opened. */
  number: number;
  reason: "lost" | "returned";
  from: number | null;
  to: number;
}

/** Times from the event log, unix ms: null for an event that has not happened. */
export interface Moments {
  /** The attempts before the last, which only took time. */
  failed: FailedAttempt[];
  started: number | null;
  phases: { phase: Phase; at: number }[];
  ready: number | null;
  output: number | null;
  ended: number | null;
}

export const NO_MOMENTS: Moments = {
  failed: [],
  started: null,
  phases: [],
  ready: null,
  output: null,
  ended: null,
};

export function withEvent(moments: Moments, { event, data }: LogEvent, at: number): Moments {
  switch (event) {
    case "status": {
      const { failed, started } = moments;
      if (data.attempt !== undefined) return { ...NO_MOMENTS, failed, started: at };
      const number = data.lost ?? data.returned;
      if (number === undefined) return moments;
      const reason = data.lost === undefined ? "returned" : "lost";
      return { ...NO_MOMENTS, failed: [...failed, { number, reason, from: started, to: at }] };
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
  kind: "created" | "failed" | "queued" | "setup" | "started" | "output" | "done";
  state: "past" | "current" | "ahead";
  /** When the step began, unix ms; null when unknown. */
  at: number | null;
  /**
   * Duration of the step; null while it goes on, or when unknown. The first output counts from the start of
   * the model, the end from the creation; the queue excludes failed attempts.
   */
  seconds: number | null;
  /** A failed attempt: its number among those that started, and why it failed. */
  attempt?: { number: number; reason: FailedAttempt["reason"] };
  phases?: { phase: Phase; at: number; seconds: number | null }[];
}

export type PredictionTimes = Pick<
  Prediction,
  "created_at" | "updated_at" | "status" | "setup_time" | "execution_time"
>;

/**
 * The steps in order: past, current and ahead; of a prediction that has ended only those that happened. The
 * setup and the run are as long as the runner measured, which it reports at the end, so that all pages and the
 * API have the same figures. Moments of earlier reports stay as they were; only those that came all at once, as
 * those of a short run, are replaced by measured ones.
 */
export function timeline(moments: Moments, prediction: PredictionTimes): Step[] {
  const created = Date.parse(prediction.created_at);
  const ended = isTerminal(prediction.status)
    ? (moments.ended ?? Date.parse(prediction.updated_at))
    : null;
  const setupMs = msOf(prediction.setup_time);
  const modelBegan = earlier(moments.ready, before(ended, msOf(prediction.execution_time)));
  const wasReported = moments.ready !== null && moments.ready !== moments.ended;
  const ready = within(created, wasReported ? moments.ready : modelBegan);
  const begun = within(
    created,
    wasReported ? moments.started : earlier(moments.started, before(ready, setupMs)),
  );
  const reportedSetupMs = wasReported ? span(begun, ready) || null : null;
  const failed = moments.failed.map(({ reason, from, to }, n): Step => {
    const at = within(created, from);
    const attempt = { number: n + 1, reason };
    return { kind: "failed", state: "past", at, seconds: secondsOf(span(at, to)), attempt };
  });
  const failedMs = failed.reduce((sum, { seconds }) => sum + (seconds ?? 0) * 1000, 0);
  const queuedUntil = begun ?? ended;
  const queuedMs = queuedUntil === null ? null : Math.max(0, queuedUntil - created - failedMs);
  const output = moments.output && Math.max(moments.output, ready ?? begun ?? created);
  const isApart = moments.output !== moments.ready;
  const outputMs = span(isApart ? ready : within(created, modelBegan), output);

  const step = (
    kind: Step["kind"],
    at: number | null,
    until: number | null,
    ms?: number | null,
  ) => ({
    kind,
    state: stateOf(at, until ?? ended),
    at,
    seconds: secondsOf(ms ?? span(at, until ?? ended)),
  });
  const setup = {
    ...step("setup", begun, ready),
    seconds: secondsOf(setupMs ?? reportedSetupMs ?? (span(begun, ready ?? ended) || null)),
    phases: moments.phases.map(({ phase, at }, n) => ({
      phase,
      at,
      // Phases reported in the same frame have the same time: their duration is unknown.
      seconds: secondsOf(span(at, moments.phases[n + 1]?.at ?? ready ?? ended) || null),
    })),
  };
  const steps: Step[] = [
    { kind: "created", state: "past", at: created, seconds: null },
    ...failed,
    step("queued", within(created, moments.failed.at(-1)?.to ?? created), begun, queuedMs),
    setup,
    step("started", ready, ended, msOf(prediction.execution_time)),
    { ...step("output", output, output), seconds: secondsOf(outputMs || null) },
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

/** Returns a time that is not before the creation: the clocks of two machines may differ. */
const within = (created: number, at: number | null) => at && Math.max(at, created);

const before = (at: number | null, ms: number | null) =>
  at === null || ms === null ? null : at - ms;

const earlier = (a: number | null, b: number | null) =>
  a === null || b === null ? (a ?? b) : Math.min(a, b);

const span = (from: number | null, to: number | null) =>
  from === null || to === null ? null : Math.max(0, to - from);

const msOf = (seconds: string | null) => (seconds === null ? null : Number(seconds) * 1000);
const secondsOf = (ms: number | null) => (ms === null ? null : ms / 1000);

/** Times are unix ms. */
export interface RunFacts {
  times: PredictionTimes;
  pool: string;
  hardware: string;
  /** Since when the prediction waits for a runner, unless it was handed out. */
  waiting_since: number;
  /** When the open attempt was handed out; null if none is open. */
  handed_at: number | null;
  moments: Moments;
  setup: SetupFacts | null;
}

/** Progress of the container's setup, until it is ready. */
export interface SetupFacts {
  progress: Omit<SetupProgress, "logs">;
  /** When the progress came, and the first of its phase that was known in numbers. */
  at: number;
  first: { progress: number; at: number } | null;
}

export function withSetupEvent(
  before: SetupFacts | null,
  { event, data }: LogEvent,
  at: number,
): SetupFacts | null {
  // A new attempt's container is set up from the beginning.
  if (event === "status") return null;
  if (event !== "setup") return before;
  const { logs: _, ...progress } = data;
  if (progress.phase === "ready") return null;
  const first = before?.progress.phase === progress.phase ? before.first : null;
  if (first || progress.progress === undefined) return { progress, at, first };
  return { progress, at, first: { progress: progress.progress, at } };
}

/** How long the phase will still take at its rate so far, ms; undefined if that is unknown. */
export function setupLeftMs(setup: SetupFacts, now: number): number | undefined {
  const { first, at } = setup;
  const { progress } = setup.progress;
  if (!first || progress === undefined || progress <= first.progress || at <= first.at)
    return undefined;
  const left = ((1 - progress) * (at - first.at)) / (progress - first.progress);
  return Math.max(0, left - (now - at));
}

const PHASES: Record<SetupProgress["phase"], string> = {
  pulling: "Pulling the image",
  starting: "Starting the container",
  ready: "Ready",
};

export function setupText({ phase, message, progress }: SetupProgress): string {
  const percent = progress === undefined ? "" : `, ${Math.round(progress * 100)}%`;
  return `${PHASES[phase]}${percent}${message ? `: ${message}` : ""}`;
}
