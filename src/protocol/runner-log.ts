/**
 * The end of a runner's own log, for operators. Nobody sends it unasked: the answer to a claim or a snapshot
 * says `log` when an operator has asked, and the runner sends what it keeps with POST /v1/runner/log.
 */
import { z } from "zod";
import { shownText } from "./common.ts";
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

const charsOf = (lines: RunnerLogLine[]): number =>
  lines.reduce((sum, { text }) => sum + text.length, 0);
