/** The outcome of one try to deliver an event. */
export interface Outcome {
  /** The status of the response; null when there was none. */
  status: number | null;
  /** Why the try failed; null when it was delivered. Never contains a secret or a URL's query. */
  error: string | null;
  /** The beginning of the receiver's response. */
  response?: string;
  /** The delay that the receiver requested with `Retry-After`. */
  retryAfterMs?: number;
  /**
   * When to try again if nothing was posted because of the rate limit of the host. It counts neither as a try
   * nor as a failure.
   */
  throttledMs?: number;
  /** Whether no further try is made: the receiver is gone permanently. */
  final?: boolean;
}
