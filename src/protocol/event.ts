/**
 * The events of a prediction's log. Each has an id, an integer that rises from 1; on an event stream
 * it is `id: <id>`, `event: <name>`, `data: <one JSON value>`.
 *
 * An event is shown when it comes and stored within 250 ms. If the prediction's object dies in
 * between, the runner sends the event again and it gets the same id; if the runner has died, too, the
 * event is lost. What comes then has an id beyond all that may have been shown: the ids have a gap,
 * and who resumes after any id misses nothing that follows.
 */
import { z } from "zod";
import type { Json } from "./common.ts";

/** Progress of starting the container, before the model runs. */
export const setupProgress = z.object({
  phase: z.enum(["pulling", "starting", "ready"]),
  message: z.string().max(2_000).optional(),
  /** Progress from 0 to 1, where it is known. */
  progress: z.number().min(0).max(1).optional(),
  /** `ready` has the time since the runner took the job: it becomes the prediction's `setup_time`. */
  seconds: z.number().nonnegative().optional(),
  /** Container output since the last setup event. */
  logs: z.string().optional(),
});
export type SetupProgress = z.infer<typeof setupProgress>;

export const metrics = z.record(z.string().max(100), z.number());
export type Metrics = z.infer<typeof metrics>;

/** An output value that is too large for the log, stored with POST /v1/runner/values. */
export const storedValue = z.object({
  name: z.string().regex(/^[\w-]{1,64}$/),
  size: z.number().int().positive(),
});
export type StoredValue = z.infer<typeof storedValue>;

/** The longest JSON text of an output inside a frame, in bytes. */
export const MAX_INLINE_OUTPUT = 256 * 1024;

/** Outputs of one run, including stored ones: assembling so many from the log takes 0.1 s. */
export const MAX_OUTPUTS = 200_000;

/**
 * Other events of one run: logs, metrics, progress. Beyond this limit the log is cut. A Cog container
 * that prints all day produces 172,800, and each reader goes through as many rows.
 */
export const MAX_NOTES = 250_000;

/**
 * Events that runners report. `output` is one value: an item of a list, or the whole output. `stored`
 * refers to a stored value, which readers see as an `output`.
 */
export type ReportedEvent =
  | { event: "setup"; data: SetupProgress }
  | { event: "output"; data: Json }
  | { event: "stored"; data: StoredValue }
  | { event: "logs"; data: string }
  | { event: "metrics"; data: Metrics };

const MAX_EVENTS = 10_000;

/**
 * The events of a frame, validated by hand: Workers forbid code generation, and without it zod takes
 * longer for a frame of short outputs than all other processing.
 */
export const reportedEvents = z.custom<ReportedEvent[]>(
  (value) => Array.isArray(value) && value.length <= MAX_EVENTS && value.every(isReportedEvent),
  `at most ${MAX_EVENTS} events, each of type setup, output, stored, logs or metrics with its data`,
);

function isReportedEvent(value: unknown): value is ReportedEvent {
  if (typeof value !== "object" || value === null || !("event" in value && "data" in value)) {
    return false;
  }
  switch (value.event) {
    case "output":
      return value.data !== undefined;
    case "stored":
      return storedValue.safeParse(value.data).success;
    case "logs":
      return typeof value.data === "string";
    case "setup":
      return setupProgress.safeParse(value.data).success;
    case "metrics":
      return metrics.safeParse(value.data).success;
    default:
      return false;
  }
}

export interface StatusChange {
  status: string;
  attempt?: number;
  /** The number of an attempt whose runner was lost or returned the job. The prediction waits for another. */
  lost?: number;
  returned?: number;
  /** The version that answers from now on, the one that could not, and why: `owner/name:version`. */
  fallback?: string;
  from?: string;
  reason?: string;
  prediction?: object;
}

export type OwnEvent =
  | { event: "status"; data: StatusChange }
  | { event: "error"; data: object }
  | { event: "done"; data: object };

export type LogEvent = ReportedEvent | OwnEvent;
