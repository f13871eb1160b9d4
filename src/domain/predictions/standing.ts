/** The progress of a prediction, as far as it knows by itself: its pool knows what it waits for. */
import type { LogEvent, SetupProgress } from "../../protocol/event.ts";
import type { Moments, PredictionTimes } from "./timeline.ts";

/** Times are unix ms. */
export interface Standing {
  /** Times of the prediction's resource. */
  times: PredictionTimes;
  pool: string;
  hardware: string;
  /** Since when the prediction waits for a runner, unless it was handed out. */
  waiting_since: number;
  /** When the open attempt was handed out; null if none is open. */
  handed_at: number | null;
  moments: Moments;
  setup: SetupStanding | null;
}

/** Progress of the container's setup, until it is ready. */
export interface SetupStanding {
  progress: Omit<SetupProgress, "logs">;
  /** When the progress came, and the first of its phase that was known in numbers. */
  at: number;
  first: { progress: number; at: number } | null;
}

/** The progress including the next event of the log. */
export function withSetupEvent(
  before: SetupStanding | null,
  { event, data }: LogEvent,
  at: number,
): SetupStanding | null {
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
export function setupLeftMs(setup: SetupStanding, now: number): number | undefined {
  const { first, at } = setup;
  const { progress } = setup.progress;
  if (!first || progress === undefined || progress <= first.progress || at <= first.at)
    return undefined;
  const left = ((1 - progress) * (at - first.at)) / (progress - first.progress);
  return Math.max(0, left - (now - at));
}
