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
      description:
        "Whether a response from the runner is pending. Read the log again in a second or two",
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
      .meta({ description: "The oldest first" }),
  })
  .meta({ id: "RunnerLog", description: "The last lines of a runner's own log" });
export type RunnerLog = z.infer<typeof runnerLog>;

const charsOf = (lines: RunnerLogLine[]): number =>
  lines.reduce((sum, { text }) => sum + text.length, 0);

const step = z
  .object({
    at: timestamp.meta({ description: "When these five minutes began" }),
    reports: z.int().meta({ description: "How often it reported", example: 10 }),
    running: z.int().meta({ description: "Peak concurrent predictions", example: 3 }),
    gpus: z
      .array(
        z.object({
          used: z.number().meta({ description: "Mean use, from 0 to 1", example: 0.82 }),
          memory_used_gb: z.number().meta({ description: "The most memory in use", example: 41.5 }),
        }),
      )
      .meta({ description: "In the order of its machine's GPUs" }),
  })
  .meta({ id: "RunnerHistoryStep", description: "What a runner reported in five minutes" });

export const runnerHistory = z
  .object({
    step_seconds: z.int().meta({ description: "How long a step is", example: 300 }),
    steps: z.array(step).meta({
      description:
        "The oldest first, 288 at most. Those in which it reported nothing are left out, and the last one goes on",
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
        "`stopping`: its process was told to stop, and finishes its predictions. `drained`, `resumed`: by an operator. `forgiven`: an operator has resumed it while it was set aside. `lost`: its process ended without a word, and another one has started. `silent`: it is heard from again. `fell_silent`: nothing was heard from it after this; it is there only as long as that is so",
    }),
    detail: z.string().nullable().meta({
      description:
        "Of `started` the version, of GPUs the number and name, of containers the model's version or the image, with how many they are if there are several; null for the others",
      example: "ada/story:3",
    }),
    time: timestamp.nullable().meta({
      description:
        "Of `lost` and `silent`: when it was last heard from. Of `set_aside`: until when, at most. Null for the others",
      example: null,
    }),
    by: z.string().nullable().meta({
      description:
        "Username of the operator who did it on the dashboard; null for what the operator's token did, for what nobody did, and if the account is deleted",
      example: "ada",
    }),
  })
  .meta({ id: "RunnerEvent", description: "An event of a runner" });
export type RunnerEvent = z.infer<typeof runnerEvent>;
