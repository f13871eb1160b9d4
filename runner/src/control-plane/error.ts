/** What a call to the control plane can end with, and whether to try again. */

export class ControlPlaneError extends Error {
  override readonly name = "ControlPlaneError";
  /** Undefined when no answer came. */
  readonly status: number | undefined;
  readonly retryAfterMs: number;

  constructor(
    message: string,
    options: { status?: number; retryAfterMs?: number; cause?: unknown } = {},
  ) {
    super(message, "cause" in options ? { cause: options.cause } : {});
    this.status = options.status;
    this.retryAfterMs = options.retryAfterMs ?? 0;
  }

  /** No answer, too early, too often, or trouble on the other side: all of them pass. */
  get retryable(): boolean {
    const { status } = this;
    return status === undefined || [408, 425, 429].includes(status) || status >= 500;
  }
}

export const isRetryable = (error: unknown): boolean =>
  error instanceof ControlPlaneError && error.retryable;

export const statusOf = (error: unknown): number | undefined =>
  error instanceof ControlPlaneError ? error.status : undefined;

/** The control plane will not have this runner; the message says what to do about it. */
export class RegistrationRefused extends Error {
  override readonly name = "Refused";
}

/** Answers to a session that another try cannot change: the token, the session, the name. */
export const endsSession = (error: unknown): boolean =>
  [401, 403, 404, 409].includes(statusOf(error) ?? 0);

/**
 * As much of it as may be told to those who do not run this machine: its system's messages name
 * paths, sockets and addresses, so that of those it is the code (ENOSPC, ECONNREFUSED).
 */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "it is unknown why";
  if (error instanceof ControlPlaneError && error.cause === undefined) {
    return error.status === undefined ? "the service did not answer" : error.message;
  }
  if ("code" in error && typeof error.code === "string") return error.code;
  if ("statusCode" in error) return `Docker answered ${error.statusCode}`;
  if (error.cause !== undefined) return reasonOf(error.cause);
  if (error instanceof AggregateError && error.message === "") return reasonOf(error.errors[0]);
  return error.message;
}

/** `fetch failed` says nothing: the cause has the reason (ECONNREFUSED, ENOTFOUND, a certificate). */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause !== undefined) return `${error.message}: ${messageOf(error.cause)}`;
  // Happy eyeballs: an AggregateError without a message, one error an address.
  if (error instanceof AggregateError && error.message === "") {
    return error.errors.map(messageOf).join(", ");
  }
  return error.message;
}
