/**
 * Errors of the platform that are nobody's fault: a part of it restarts, is overloaded or cannot be
 * reached. As Cloudflare's documentation has them (November 2026): "Debug D1"; "Troubleshooting" and
 * "Error handling" of Durable Objects; "Error codes" of R2 and of Queues.
 */

/**
 * `passing`: the same call may succeed in a moment, and may have taken effect. `busy`: to ask again at
 * once makes it worse. `full`: it has no room until somebody makes some.
 */
export type TransientError = "passing" | "busy" | "full";

/** Errors of each kind, with the texts that identify them. */
export const MESSAGES: Record<TransientError, string[]> = {
  passing: [
    "D1 DB reset because its code was updated.",
    "Internal error while starting up D1 DB storage caused object to be reset.",
    "Internal error in D1 DB storage caused object to be reset.",
    "Network connection lost.",
    "Cannot resolve D1 DB due to transient issue on remote node.",
    "Can't read from request stream because client disconnected.",
    "Durable Object reset because its code was updated.",
    "Connection closed: this Durable Object instance is no longer active.",
    "Durable Object connection closed because the object was reset.",
    "Internal error while starting up Durable Object storage caused object to be reset.",
    "Internal error in Durable Object storage caused object to be reset.",
    "Durable Object's isolate exceeded its memory limit and was reset.",
    // R2: InternalError, ServiceUnavailable, ClientDisconnect. Queues: UnknownInternalError.
    "(10001)",
    "(10043)",
    "(10054)",
    "(15000)",
  ],
  busy: [
    "D1 DB storage operation exceeded timeout which caused object to be reset.",
    "D1 DB is overloaded. Requests queued for too long.",
    "D1 DB is overloaded. Too many requests queued.",
    "D1 DB's isolate exceeded its memory limit and was reset.",
    "D1 DB exceeded its CPU time limit and was reset.",
    "Durable Object is overloaded. Too many requests queued.",
    "Durable Object is overloaded. Too much data queued.",
    "Durable Object is overloaded. Requests queued for too long.",
    "Durable Object is overloaded. Too many requests for the same object within a 10 second window.",
    "Durable Object storage operation exceeded timeout which caused object to be reset.",
    "Durable Object exceeded its CPU time limit and was reset.",
    "Your account is generating too much load on Durable Objects. Please back off and try again later.",
    "Your account is doing too many concurrent storage operations. Please back off and try again later.",
    "Queue is overloaded. Please back off.",
    "Too Many Requests",
    // R2: TooManyRequests. Queues: QueueOverloaded, QueueDisabled.
    "(10058)",
    "(10250)",
    "(10252)",
  ],
  full: [
    "database or disk is full: SQLITE_FULL",
    "Exceeded maximum DB size",
    // Queues: QueueStorageLimitExceeded, FreeTierLimitExceeded.
    "(10251)",
    "(10253)",
  ],
};

const KINDS = ["full", "busy", "passing"] as const;

/** Returns the kind of the error or its cause; undefined when the error is not transient. */
export function transientErrorIn(error: unknown): TransientError | undefined {
  if (!(error instanceof Error)) return undefined;
  if (has(error, "overloaded")) return "busy";
  const kind = KINDS.find((one) => MESSAGES[one].some((text) => error.message.includes(text)));
  if (kind) return kind;
  if (has(error, "retryable") || has(error, "durableObjectReset")) return "passing";
  return transientErrorIn(error.cause);
}

/** The properties that the platform gives the errors of Durable Objects. */
const has = (error: Error, property: string) => Reflect.get(error, property) === true;
