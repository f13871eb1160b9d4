/** What is wrong with an image or its version, and what its publisher does about it. */
import { external, type Failure, type FailureOptions } from "../containers/failure.ts";

/** `answered`: which path with which status. Callers have no key of the container's, and need none. */
export const keyDemanded = (answered: string): Failure =>
  external(
    `the container answers ${answered}, where 200 is due: it demands an API key, and nobody but the runner reaches it. ` +
      "Its publisher starts it without one (no --api-key, VLLM_API_KEY, LLAMA_API_KEY or API_KEY in the image or the model's variables)",
  );

/** `most`: what the image says that it takes, where it does. */
export const tooMany = (asked: number, most?: number, options?: FailureOptions): Failure =>
  external(
    `the image takes ${most === undefined ? "fewer" : `${most}`} runs at a time, and its version says max_concurrency ${asked}: ` +
      "publish a version with no more than the image takes, or an image whose predict() is async and that takes as many (Cog 0.14 or newer: concurrency.max in cog.yaml)",
    options,
  );

/** As Cog 0.16 and 0.22 end the setup of a model that is not async. */
export const refusesMany = (logs: string): boolean => /max_concurrency > 1 requires/i.test(logs);
