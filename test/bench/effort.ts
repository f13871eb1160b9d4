/** The effort of the measurements: enough to trust the numbers, or just enough to see that they work. */
export interface Effort {
  /** Times that two sides are measured in turn. */
  rounds: number;
  /** The share of a round's requests that is made. */
  requests: number;
  /** Time that tokens are measured, s. */
  seconds: number;
  /** Predictions whose webhooks have a silent receiver. */
  silent: number;
  /** Whether a ratio of times is trusted: only then can a ratio that is too high fail the bench. */
  timed: boolean;
  /** MiB of a layer that is pushed and pulled. */
  pushed: number;
  /** MiB of the weights in an image that is started. */
  image: number;
  /** Tokens of a stream whose price is counted. */
  tokens: number;
}

export const FULL: Effort = {
  rounds: 11,
  requests: 1,
  seconds: 5,
  silent: 1_000,
  timed: true,
  pushed: 1_024,
  image: 2_048,
  tokens: 500,
};
export const QUICK: Effort = {
  rounds: 1,
  requests: 0.1,
  seconds: 1,
  silent: 100,
  timed: false,
  pushed: 96,
  image: 100,
  tokens: 150,
};
