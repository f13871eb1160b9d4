/**
 * The events of a prediction's log. Each has an id, an integer that rises by one from 1;
 * on an event stream it is `id: <id>`, `event: <name>`, `data: <one JSON value>`.
 */
import { z } from "zod";
import { json } from "./common.ts";

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

/** What a runner may report. `output` is one value: an item of a list, or the whole of it. */
export const reportedEvent = z.discriminatedUnion("event", [
  z.object({ event: z.literal("setup"), data: setupProgress }),
  z.object({ event: z.literal("output"), data: json }),
  z.object({ event: z.literal("logs"), data: z.string() }),
  z.object({ event: z.literal("metrics"), data: metrics }),
]);
export type ReportedEvent = z.infer<typeof reportedEvent>;

/** What the prediction itself adds. */
export type OwnEvent =
  | { event: "status"; data: { status: string; attempt?: number; prediction?: object } }
  | { event: "error"; data: object }
  | { event: "done"; data: object };

export type LogEvent = ReportedEvent | OwnEvent;
