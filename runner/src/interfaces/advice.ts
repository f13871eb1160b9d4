/** What is wrong with an image or its version, and what its publisher does about it. */
import { external, type Failure, type FailureOptions } from "../containers/failure.ts";

/** `answer`: which path with which status. Callers have no key of the container's, and need none. */
export const apiKeyRequired = (answer: string): Failure =>
  external(
    `the container answers ${answer}, where 200 is due: it demands an API key, and nobody but the runner reaches it. ` +
      "Its publisher starts it without one (no --api-key, VLLM_API_KEY, LLAMA_API_KEY or API_KEY in the image or the model's variables)",
  );

/** `supported`: what the image says that it takes, where it does. */
export const concurrencyTooHigh = (
  requested: number,
  supported?: number,
  options?: FailureOptions,
): Failure =>
  external(
    `the image takes ${supported === undefined ? "fewer" : `${supported}`} runs at a time, and its version says max_concurrency ${requested}: ` +
      "publish a version with no more than the image takes, or an image whose predict() is async and that takes as many (Cog 0.14 or newer: concurrency.max in cog.yaml)",
    options,
  );

/** As Cog 0.16 and 0.22 end the setup of a model that is not async. */
export const rejectsConcurrency = (logs: string): boolean =>
  /max_concurrency > 1 requires/i.test(logs);
