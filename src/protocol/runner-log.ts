/**
 * The log and the history of a runner, for operators. A runner sends the end of its log with POST
 * /v1/runner/log when the answer to a claim or a snapshot says `log`.
 */
import { z } from "zod";
import { shownText, timestamp } from "./common.ts";
import { stateRequest } from "./runner.ts";

export const RUNNER_LOG_LEVELS = ["debug", "info", "warn", "error"] as const;

export const MAX_RUNNER_LOG_LINES = 500;
export const MAX_RUNNER_LOG_LINE = 2_000;
/** The limit of all lines together. A letter may take three bytes. */
export const MAX_RUNNER_LOG_CHARS = 64 * 1024;
/** The largest request, as JSON. */
export const MAX_RUNNER_LOG_BYTES = 256 * 1024;

export const runnerLogLine = z.object({
  /** Unix milliseconds by the runner's clock: before the year 10000, which a date can be. */
  at: z.int().nonnegative().max(253_402_300_799_999),
  level: z.enum(RUNNER_LOG_LEVELS),
  text: shownText(MAX_RUNNER_LOG_LINE),
});
export type RunnerLogLine = z.infer<typeof runnerLogLine>;

export const runnerLogRequest = stateRequest.omit({ snapshot: true }).extend({
  lines: z
    .array(runnerLogLine)
    .max(MAX_RUNNER_LOG_LINES)
    .refine((lines) => charsOf(lines) <= MAX_RUNNER_LOG_CHARS, {
      message: `The lines have more than ${MAX_RUNNER_LOG_CHARS} characters`,
    }),
});
export type RunnerLogRequest = z.infer<typeof runnerLogRequest>;

export const runnerLog = z
  .object({
    waiting: z.boolean().meta({
      description: "Whether the runner has not responded yet. Get the log again in a second or two",
      example: false,
    }),
    asked_at: timestamp.nullable().meta({
      description:
        "When the log was requested; null once the runner has responded, or after ten minutes",
    }),
    sent_at: timestamp.nullable().meta({
      description: "When the runner sent these lines; null if it sent none in the last ten minutes",
    }),
    lines: z
      .array(
        z
          .object({
            at: timestamp.meta({ description: "By the runner's clock" }),
            level: z.enum(RUNNER_LOG_LEVELS),
            text: z.string().meta({ example: "registered" }),
          })
          .meta({ id: "RunnerLogLine" }),
      )
      .meta({ description: "Oldest first" }),
  })
  .meta({ id: "RunnerLog", description: "The last lines of a runner's own log" });
export type RunnerLog = z.infer<typeof runnerLog>;

const charsOf = (lines: RunnerLogLine[]): number =>
  lines.reduce((sum, { text }) => sum + text.length, 0);

const step = z
  .object({
    at: timestamp.meta({ description: "Start of the five minutes" }),
    reports: z.int().meta({ description: "Number of reports in this step", example: 10 }),
    running: z.int().meta({ description: "Peak concurrent predictions", example: 3 }),
    gpus: z
      .array(
        z.object({
          used: z.number().meta({ description: "Average use, from 0 to 1", example: 0.82 }),
          memory_used_gb: z.number().meta({ description: "Peak memory in use", example: 41.5 }),
        }),
      )
      .meta({ description: "In the same order as the machine's GPUs" }),
  })
  .meta({ id: "RunnerHistoryStep", description: "Five minutes of a runner's load" });

export const runnerHistory = z
  .object({
    step_seconds: z.int().meta({ description: "Length of a step", example: 300 }),
    steps: z.array(step).meta({
      description:
        "Oldest first, up to 288. Steps without reports are omitted. The last step is still in progress",
    }),
  })
  .meta({ id: "RunnerHistory", description: "Load of a runner over the last 24 hours" });
export type RunnerHistory = z.infer<typeof runnerHistory>;

export const RUNNER_EVENT_KINDS = [
  "started",
  "stopping",
  "stopped",
  "drained",
  "resumed",
  "lost",
  "silent",
  "set_aside",
  "forgiven",
  "token_revoked",
  "gpu_lost",
  "gpu_back",
  "container_started",
  "container_stopped",
] as const;

export const runnerEvent = z
  .object({
    at: timestamp,
    kind: z.enum([...RUNNER_EVENT_KINDS, "fell_silent"]).meta({
      description:
        "`stopping`: its process was told to stop and is finishing its predictions. `drained`, `resumed`: by an operator. `set_aside`: paused. `forgiven`: an operator resumed it while it was paused. `lost`: its process ended without notice, and another one has started. `silent`: reconnected. `fell_silent`: lost connection; listed only until it reconnects",
    }),
    detail: z.string().nullable().meta({
      description:
        "`started`: the runner's version. GPU events: number and name. Container events: the model's version or the image, with a count if there are several. Null for other events",
      example: "ada/story:3",
    }),
    time: timestamp.nullable().meta({
      description:
        "`lost` and `silent`: when the runner was last seen. `set_aside`: when the pause ends at the latest. Null for other events",
      example: null,
    }),
    by: z.string().nullable().meta({
      description:
        "Username of the operator who did this on the dashboard; null if the operator's token was used, if no one did it, or if the account was deleted",
      example: "ada",
    }),
  })
  .meta({ id: "RunnerEvent", description: "An event of a runner" });
export type RunnerEvent = z.infer<typeof runnerEvent>;
