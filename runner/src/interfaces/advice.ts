/** Failures that an image's publisher can fix, with advice. */
import { external, type Failure, type FailureOptions } from "../lib/failure.ts";

/** `answer`: the path and the status. Callers have no key for the container and need none. */
export const apiKeyRequired = (answer: string): Failure =>
  external(
    `the container responded to ${answer} instead of 200: it requires an API key, although only the runner can reach it. ` +
      "Start it without one (no --api-key, VLLM_API_KEY, LLAMA_API_KEY or API_KEY in the image or the model's variables)",
  );

/** `supported`: the limit that the image reports, if it does. */
export const concurrencyTooHigh = (
  requested: number,
  supported?: number,
  options?: FailureOptions,
): Failure =>
  external(
    `the image supports ${supported === undefined ? "fewer" : supported} concurrent runs, and its version sets max_concurrency to ${requested}: ` +
      "publish a version with a limit that the image supports, or an image with an async predict() and a higher limit (Cog 0.14 or later: concurrency.max in cog.yaml)",
    options,
  );

/** The message of Cog 0.16 and 0.22 when setup fails because the model is not async. */
export const rejectsConcurrency = (logs: string): boolean =>
  /max_concurrency > 1 requires/i.test(logs);
