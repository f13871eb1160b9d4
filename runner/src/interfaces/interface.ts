/**
 * The protocol of a container, from the runner's side:
 *
 * 1. `connect` waits until the container is ready and reports what it prints until then.
 * 2. `run` performs one run; up to `max_concurrency` at a time.
 * 3. `shutdown` asks the server to stop.
 */

import type { Finish } from "../../../src/protocol/channel.ts";
import type { Json } from "../../../src/protocol/common.ts";
import type {
  Limits,
  OpenAiCall,
  ResponsesVia,
  ServerDescription,
} from "../../../src/protocol/runner.ts";
import { external, type Failure, type FailureOptions } from "../../../src/run/failure.ts";
import type { RunReporter } from "../../../src/run/run-reporter.ts";
import type { SaveFile } from "../files/output-queue.ts";
import type { ServedFile } from "../files/serve-files.ts";
import type { ListenWatch } from "./listen-watch.ts";

/** The files of an input, by the text that stands for each. */
export type FilesByUrl = ReadonlyMap<string, ServedFile>;

export interface ContainerConnection {
  address: URL;
  /**
   * The token by which the container authenticates to the callback server; no other container knows
   * it.
   */
  token: string;
  maxConcurrency: number;
  /** Reports the container's output from its start, until the returned function is called. */
  follow(listener: (text: string) => void): () => void;
  /** Aborted when the container has ended; the reason is the Failure to report. */
  ended: AbortSignal;
  /** Notices a server that does not listen where it should. */
  watch?: ListenWatch | undefined;
}

export interface Run {
  id: string;
  /** The call whose request body the input is; null for the model's own input. */
  call: OpenAiCall | null;
  /** The way in which a responses call is made. */
  responses?: ResponsesVia | undefined;
  /** The model as callers know it: `owner/name`. */
  model: string;
  input: Record<string, Json>;
  /** The trace that the server continues; undefined: the run is not traced. */
  traceparent?: string | undefined;
  files: FilesByUrl;
  limits: Limits;
  reporter: RunReporter;
  /** Stores a file that comes inside the output; undefined if the output has no files. */
  saveFile?: SaveFile | undefined;
  stop: AbortSignal;
}

/** Returns the header that continues the trace of a run, if it has one. */
export const traceHeaders = ({ traceparent }: Run): Record<string, string> =>
  traceparent === undefined ? {} : { traceparent };

export interface Outcome {
  finish: Finish;
  /**
   * The fate of the container: `kept` for the next run; `retired` (no new runs, because it cannot be
   * trusted); or `killed`, because it did not stop, once no other run is in it.
   */
  container: "kept" | "retired" | "killed";
  /** The run failed because of its input, and has used nothing. */
  inputRejected?: boolean;
  /** The run failed, but the container did its part. */
  notContainersFault?: boolean;
  /**
   * The container did not accept the run, so another container may run it. `full`: it reported that
   * it has no room.
   */
  notAccepted?: "refused" | "full";
  /**
   * Set if the container may have died of the failed run. Resolves once that is known; no run joins
   * before.
   */
  verdict?: Promise<"kept" | "retired">;
}

export interface Session {
  readonly declaresFiles: boolean;
  /** Whether a run ends with its connection, so that an abandoned run needs no kill. */
  readonly stopsOnDisconnect: boolean;
  /** Runs the input. Never rejects: any failure is a `failed` finish. */
  run(run: Run): Promise<Outcome>;
  /** Returns the server's description of itself, even during runs; undefined without an answer. */
  describe(): Promise<ServerDescription | undefined>;
  shutdown(): Promise<void>;
  close(): void;
}

export interface ServerInterface {
  /** The variables that the interface needs in the container's environment. */
  environment(maxConcurrency: number, token: string): Record<string, string>;
  /**
   * Rejects with a Failure if the container will never be ready, or when `ended` or `stop` is
   * aborted.
   */
  connect(
    connection: ContainerConnection,
    report: (logs: string) => void,
    stop: AbortSignal,
  ): Promise<Session>;
}

/** Intervals and timeouts. */
export interface Timing {
  /** The pause between two health checks of a starting container, after its first second. */
  readinessPollMs: number;
  /** The pause between two health checks of a running container. */
  healthPollMs: number;
  /** A broken connection is the first sign of a crash: how long the exit may take to follow. */
  exitNoticeMs: number;
  /** The time that a container is watched after a failed run before it gets another run. */
  failureWatchMs: number;
  /** From the cancel of a run to the kill of its container. */
  cancelGraceMs: number;
  /** The shortest pause between two checks whether a server has stopped working on a closed request. */
  releasePollMs: number;
  /** From the request to stop to the kill. */
  stopGraceMs: number;
}

export const DEFAULT_TIMING: Timing = {
  readinessPollMs: 100,
  healthPollMs: 5_000,
  exitNoticeMs: 2_000,
  failureWatchMs: 250,
  cancelGraceMs: 30_000,
  releasePollMs: 1_250,
  stopGraceMs: 5_000,
};

/** `answer`: the path and the status. Callers have no key for the container and need none. */
export const apiKeyRequired = (answer: string): Failure =>
  external(
    `the container responded to ${answer} instead of 200. It requires an API key, although only the runner can reach it. ` +
      "Start it without one (no --api-key, VLLM_API_KEY, LLAMA_API_KEY or API_KEY in the image or the model's variables)",
  );

/** `supported`: the limit that the image reports, if it does. */
export const concurrencyTooHigh = (
  requested: number,
  supported?: number,
  options?: FailureOptions,
): Failure =>
  external(
    `the image supports ${supported === undefined ? "fewer" : supported} concurrent runs, and its version sets max_concurrency to ${requested}. ` +
      "Publish a version with a limit that the image supports, or an image with an async predict() and a higher limit (Cog 0.14 or later: concurrency.max in cog.yaml)",
    options,
  );

/** The message of Cog 0.16 and 0.22 when setup fails because the model is not async. */
export const rejectsConcurrency = (logs: string): boolean =>
  /max_concurrency > 1 requires/i.test(logs);
