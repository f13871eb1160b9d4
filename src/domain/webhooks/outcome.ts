/** The outcome of one try to deliver an event. */
export interface Outcome {
  /** Of the response; null when there was none. */
  status: number | null;
  /** Why it failed; null when it was delivered. Never contains a secret or a URL's query. */
  error: string | null;
  /** The beginning of what the receiver has responded. */
  response?: string;
  /** Requested by the receiver with `Retry-After`. */
  retryAfterMs?: number;
  /** Nothing was posted because of the rate limit of its host: when to try again. Counts neither as a try nor as a failure. */
  throttledMs?: number;
  /** No further try is made: the receiver is gone permanently. */
  final?: boolean;
}
