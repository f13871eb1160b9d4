/** Parameters and results of the methods of a runner object. */
import { z } from "zod";
import {
  load,
  machine,
  type SessionRequest,
  type TelemetryRequest,
} from "../../protocol/runner.ts";
import { RUNNER_EVENT_KINDS } from "../../protocol/runner-log.ts";

/** The presence of a runner: what its object stores and returns. */
export const presence = z.object({
  name: z.string(),
  hardware: z.array(z.string()),
  pool: z.string(),
  version: z.string(),
  engine: z.string(),
  session: z.string(),
  draining: z.boolean(),
  state: z.enum(["ready", "draining", "stopped"]),
  slots: z.number(),
  running: z.array(z.string()),
  last_seen_at: z.number(),
  started_at: z.number(),
  machine,
  /** Null until the first report. */
  load: load.nullable(),
  warm: z.array(z.string()),
});
export type Presence = z.infer<typeof presence>;

const step = z.object({
  reports: z.number(),
  running: z.number(),
  gpus: z.array(z.object({ used: z.number(), memory_used_gb: z.number() })),
});

export const history = z.object({
  /** Hours of the last day, and maybe older ones, in any order. */
  hours: z.array(z.object({ hour: z.number(), steps: z.array(step.nullable()) })),
  /** Oldest first. */
  events: z.array(
    z.object({
      at: z.number(),
      kind: z.enum(RUNNER_EVENT_KINDS),
      detail: z.string(),
      by: z.string().optional(),
    }),
  ),
});
export type History = z.infer<typeof history>;

/** The registration of a runner, and the pool of its classes. */
export type NewSession = SessionRequest & Pick<Presence, "pool">;

export type Report = Omit<TelemetryRequest, "runner_id">;
