/**
 * The events of a prediction's log. Each has an id, an integer that rises by one from 1;
 * on an event stream it is `id: <id>`, `event: <name>`, `data: <one JSON value>`.
 */
import { z } from "zod";
import type { Json } from "./common.ts";

/** How far a runner is with the container, before the model runs. */
export const setupProgress = z.object({
  phase: z.enum(["pulling", "starting", "ready"]),
  message: z.string().max(2_000).optional(),
  /** 0 to 1, where it is known. */
  progress: z.number().min(0).max(1).optional(),
  /** What the container has printed since the last setup event. */
  logs: z.string().optional(),
});
export type SetupProgress = z.infer<typeof setupProgress>;

export const metrics = z.record(z.string().max(100), z.number());
export type Metrics = z.infer<typeof metrics>;

/** An output whose value is too large for the log: POST /v1/runner/values has given it a name. */
export const storedValue = z.object({
  name: z.string().regex(/^[\w-]{1,64}$/),
  /** Bytes of its JSON text. */
  size: z.number().int().positive(),
});
export type StoredValue = z.infer<typeof storedValue>;

/** The longest JSON text, in bytes, of an output that travels in a frame. */
export const MAX_INLINE_OUTPUT = 256 * 1024;

/**
 * Outputs of one run, those included that are stored. Whoever reads the prediction is given all of
 * them, which are put together from the log each time: so many in 0.1 s.
 */
export const MAX_OUTPUTS = 200_000;

/**
 * What else a run may report: logs, metrics, progress. Beyond that its log is cut. A container of Cog
 * that prints all day comes to 172,800, and as many rows are gone through by each reading.
 */
export const MAX_NOTES = 250_000;

/**
 * What a runner may report. `output` is one value: an item of a list, or the whole of it. So is
 * `stored`, which readers see as the `output` that it stands for.
 */
export type ReportedEvent =
  | { event: "setup"; data: SetupProgress }
  | { event: "output"; data: Json }
  | { event: "stored"; data: StoredValue }
  | { event: "logs"; data: string }
  | { event: "metrics"; data: Metrics };

const MAX_EVENTS = 10_000;

/**
 * The events of a frame, checked by hand: where code generation is forbidden, as in Workers, zod
 * takes longer for a frame of short outputs than everything else that is done with it.
 */
export const reportedEvents = z.custom<ReportedEvent[]>(
  (value) => Array.isArray(value) && value.length <= MAX_EVENTS && value.every(isReportedEvent),
  `at most ${MAX_EVENTS} events, each setup, output, stored, logs or metrics with its data`,
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
  /** The number of the attempt that has begun. */
  attempt?: number;
  /** The number of one that had begun: its runner was lost, or has handed it back; another is waited for. */
  lost?: number;
  returned?: number;
  /** In the first event. */
  prediction?: object;
}

/** What the prediction itself adds. */
export type OwnEvent =
  | { event: "status"; data: StatusChange }
  | { event: "error"; data: object }
  | { event: "done"; data: object };

export type LogEvent = ReportedEvent | OwnEvent;
