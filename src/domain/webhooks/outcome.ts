/** What became of one try to deliver an event. */
export interface Outcome {
  /** Of the answer; null when there was none. */
  status: number | null;
  /** Why it does not count as delivered; null when it does. Never a secret, never the query of an address. */
  error: string | null;
  /** What the receiver asks for (`Retry-After`), ms. */
  retryAfterMs?: number;
  /** Nothing was posted, since its host was posted to too often: how long it waits, ms. No try, and no failure. */
  heldBackMs?: number;
  /** No further try would change it: the receiver is gone for good. */
  final?: boolean;
}
