export class ControlPlaneError extends Error {
  override readonly name = "ControlPlaneError";
  /** The status of the answer; undefined without an answer. */
  readonly status: number | undefined;
  readonly retryAfterMs: number;
  /** The address to try, if the server at `https://` speaks no TLS. */
  readonly httpAddress: string | undefined;

  constructor(
    message: string,
    options: {
      status?: number;
      retryAfterMs?: number;
      httpAddress?: string;
      cause?: unknown;
    } = {},
  ) {
    super(message, "cause" in options ? { cause: options.cause } : {});
    this.status = options.status;
    this.retryAfterMs = options.retryAfterMs ?? 0;
    this.httpAddress = options.httpAddress;
  }

  /** No answer, too early, rate limited, or a server error: all of these pass. */
  get retryable(): boolean {
    const { status } = this;
    return status === undefined || [408, 425, 429].includes(status) || status >= 500;
  }
}

/** @param error why there was no answer from this address */
export const noAnswer = (address: string, error: unknown): ControlPlaneError =>
  new ControlPlaneError(
    `${address}: ${messageOf(error)}`,
    isWithoutTls(error) ? { httpAddress: address.replace(/^https:/, "http:") } : {},
  );

export const isRetryable = (error: unknown): boolean =>
  error instanceof ControlPlaneError && error.retryable;

export const statusOf = (error: unknown): number | undefined =>
  error instanceof ControlPlaneError ? error.status : undefined;

/** The control plane rejected this runner; the message tells the operator what to do. */
export class RegistrationRefused extends Error {
  override readonly name = "Refused";
}

/** Statuses of a session that a retry cannot change: the token, the session, the name. */
export const endsSession = (error: unknown): boolean =>
  [401, 403, 404, 409].includes(statusOf(error) ?? 0);

/**
 * Returns the part of an error that may be shown to people who do not operate this machine. System errors
 * name paths, sockets and addresses, so only their code is used (ENOSPC, ECONNREFUSED).
 */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown reason";
  if (error instanceof ControlPlaneError && error.cause === undefined) {
    return error.status === undefined ? "the service did not respond" : error.message;
  }
  if ("code" in error && typeof error.code === "string") return error.code;
  if ("statusCode" in error) return `Docker responded with ${error.statusCode}`;
  if (error.cause !== undefined) return reasonOf(error.cause);
  if (error instanceof AggregateError && error.message === "") return reasonOf(error.errors[0]);
  return error.message;
}

/**
 * The message with its causes: that of `fetch failed` alone does not say why (ECONNREFUSED,
 * ENOTFOUND, a certificate).
 */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause !== undefined) return `${error.message}: ${messageOf(error.cause)}`;
  // Happy Eyeballs: an AggregateError without a message, with one error per address.
  if (error instanceof AggregateError && error.message === "") {
    return error.errors.map(messageOf).join(", ");
  }
  return isWithoutTls(error) ? WITHOUT_TLS : error.message;
}

/** OpenSSL's own message names a line of its source, which does not help the operator. */
const isWithoutTls = (error: unknown): boolean =>
  error instanceof Error &&
  "code" in error &&
  ["EPROTO", "ERR_SSL_WRONG_VERSION_NUMBER", "ERR_SSL_PACKET_LENGTH_TOO_LONG"].includes(
    String(error.code),
  ) &&
  /wrong version number|packet length too long/i.test(error.message);
const WITHOUT_TLS =
  "that port does not use TLS; if it uses plain HTTP, set the address with http://";
