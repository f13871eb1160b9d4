/**
 * The end of a runner's own log, for operators. Nobody sends it unasked: the answer to a claim or a snapshot
 * says `log` when an operator has asked, and the runner sends what it keeps with POST /v1/runner/log.
 */
import { z } from "zod";
import { shownText, timestamp } from "./common.ts";
import { stateRequest } from "./runner.ts";

export const RUNNER_LOG_LEVELS = ["debug", "info", "warn", "error"] as const;

export const MAX_RUNNER_LOG_LINES = 500;
export const MAX_RUNNER_LOG_LINE = 2_000;
/** Of all lines together. A letter may take three bytes. */
export const MAX_RUNNER_LOG_CHARS = 64 * 1024;
/** Of the request, as JSON. */
export const MAX_RUNNER_LOG_BYTES = 256 * 1024;

export const runnerLogLine = z.object({
  /** By the runner's clock, unix ms: before the year 10000, which a date can be. */
  at: z.int().nonnegative().max(253_402_300_799_999),
  level: z.enum(RUNNER_LOG_LEVELS),
  text: shownText(MAX_RUNNER_LOG_LINE),
});
export type RunnerLogLine = z.infer<typeof runnerLogLine>;

export const runnerLogRequest = stateRequest.omit({ snapshot: true }).extend({
  /** The oldest first. */
  lines: z
    .array(runnerLogLine)
    .max(MAX_RUNNER_LOG_LINES)
    .refine((lines) => charsOf(lines) <= MAX_RUNNER_LOG_CHARS, {
      message: `The lines have more than ${MAX_RUNNER_LOG_CHARS} characters`,
    }),
});
export type RunnerLogRequest = z.infer<typeof runnerLogRequest>;

/** A log as operators read it. */
export const runnerLog = z
  .object({
    waiting: z.boolean().meta({
      description:
        "Whether the runner has been asked and is expected to answer: read it again in a second or two",
      example: false,
    }),
    asked_at: timestamp.nullable().meta({
      description:
        "When the runner was asked for it; null once it has answered, and if nobody has asked in the last ten minutes",
    }),
    sent_at: timestamp.nullable().meta({
      description:
        "When the runner sent these lines; null if there are none from the last ten minutes",
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
