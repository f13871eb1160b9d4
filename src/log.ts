/**
 * What may be logged of an error. drizzle puts the values of a statement that has failed into its
 * message, and the secret of somebody's webhook may be one of them: only the statement is kept.
 */
import { DrizzleQueryError } from "drizzle-orm/errors";

export function errorText(error: unknown): string {
  return error instanceof DrizzleQueryError
    ? `Failed query: ${error.query} (${errorText(error.cause)})`
    : String(error);
}

/** With where it was thrown, and what caused it. */
export function traceOf(error: Error): { error: string; cause?: string } {
  const { stack = "", message, cause } = error;
  const trace = stack.replace(message, () => messageOf(error));
  return {
    error: trace || messageOf(error),
    ...(cause !== undefined && { cause: errorText(cause) }),
  };
}

const messageOf = (error: Error): string =>
  error instanceof DrizzleQueryError ? `Failed query: ${error.query}` : error.message;
