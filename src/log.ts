/**
 * The Worker's log: one JSON object per line. It goes through the console method of its level, by
 * which Workers Logs and `wrangler tail` filter. Each line is billed, $0.60 a million: warnings and
 * errors are always written, the rest for a sample of the predictions.
 */
import { DrizzleQueryError } from "drizzle-orm/errors";

type Level = "info" | "warn" | "error";

/**
 * The fields of a line. The ids have the same names in every line, so that one search finds all lines of a
 * request.
 */
interface Fields {
  request_id?: string;
  user_id?: string;
  prediction_id?: string;
  runner_id?: string;
  /** The trace of the prediction, where it has one. */
  trace_id?: string;
  /** An error, which is written with its stack trace and causes. */
  error?: unknown;
  [name: string]: unknown;
}

const inform = write("info");

export const logger = {
  /**
   * @param share the share of predictions, 0 to 1, whose lines are written: all lines of a prediction or none
   */
  info(share: number, message: string, fields: Fields & { prediction_id: string }): void {
    if (isSampled(fields.prediction_id, share)) inform(message, fields);
  },
  warn: write("warn"),
  error: write("error"),
};

/**
 * Whether a prediction is in the sample. These 32 bits of a UUIDv7 are random. The 8 after them are not
 * (domain/predictions/prediction-id.ts).
 */
const isSampled = (id: string, share: number) =>
  Number.parseInt(id.slice(-10, -2), 16) < share * 2 ** 32;

function write(level: Level) {
  return (message: string, { error, ...fields }: Fields = {}): void => {
    const entry = { level, message, ...fields, error: error && describe(error) };
    console[level](JSON.stringify(entry));
  };
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { stack = "", message, cause } = error;
  const text = stack.replace(message, () => messageOf(error)) || messageOf(error);
  return cause === undefined ? text : `${text}\nCaused by: ${describe(cause)}`;
}

/** drizzle puts a failed statement's values, which may be secrets, into its message: they are left out. */
const messageOf = (error: Error): string =>
  error instanceof DrizzleQueryError ? `Failed query: ${error.query}` : error.message;
