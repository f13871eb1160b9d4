/**
 * What a container speaks. The runner's side of one conversation:
 *
 * 1. `connect` waits until the container is ready, and reports what it prints until then.
 * 2. `run`, up to `max_concurrency` at a time: one run from the request to its last word.
 * 3. `shutdown` asks the server to end.
 */
import type { Finish } from "../../../src/protocol/channel.ts";
import type { Json } from "../../../src/protocol/common.ts";
import type { Limits, VendoraCall } from "../../../src/protocol/runner.ts";
import type { RunReporter } from "../jobs/executor.ts";
import type { SaveFile } from "./read-report.ts";

export interface ContainerConnection {
  address: URL;
  /** What the container proves itself with towards the receiver; no other container knows it. */
  token: string;
  maxConcurrency: number;
  /** Tells what it prints, from its beginning on, until the result is called. */
  follow(listener: (text: string) => void): () => void;
  /** Aborted when the container has ended; its reason is the Failure to report. */
  ended: AbortSignal;
}

export interface Run {
  id: string;
  /** What the input is the body of; null: it is the model's own. */
  call: VendoraCall | null;
  /** As its callers know it: `owner/name`. */
  model: string;
  input: Record<string, Json>;
  limits: Limits;
  reporter: RunReporter;
  /** Takes a file of the output that comes inside of it; absent where there are none. */
  saveFile?: SaveFile | undefined;
  /** Stop the model. */
  stop: AbortSignal;
}

export interface Outcome {
  finish: Finish;
  /**
   * What becomes of the container: it is kept for the next run, `retired` (gets no other run,
   * because it cannot be trusted) or `killed`, because it did not stop: once nobody else is in it.
   */
  container: "kept" | "retired" | "killed";
  /** It failed by what it was asked, and has used nothing. */
  inputRejected?: boolean;
  /** It failed, and that says nothing against the container, which did its part. */
  notContainersFault?: boolean;
  /**
   * The container would not take it, and it has not begun: another container may take it. `full`:
   * it said that it has no room.
   */
  notAccepted?: "refused" | "full";
  /** It failed, and the container may have died of it. Told when that has shown; nobody joins before. */
  verdict?: Promise<"kept" | "retired">;
}

export interface Session {
  /** Whether its outputs have files in them, as far as it has told. */
  readonly declaresFiles: boolean;
  /** Whether a run ends with its connection: then an abandoned one is stopped, not killed for. */
  readonly stopsOnDisconnect: boolean;
  /** Never rejects: whatever goes wrong is a `failed` finish. */
  run(run: Run): Promise<Outcome>;
  shutdown(): Promise<void>;
  /** Lets go of the connections. */
  close(): void;
}

export interface ServerInterface {
  /** What the interface wants in the container's environment. */
  environment(maxConcurrency: number, token: string): Record<string, string>;
  /** Rejects with a Failure when the container will never be ready, or when `gone` or `stop`. */
  connect(
    connection: ContainerConnection,
    report: (logs: string) => void,
    stop: AbortSignal,
  ): Promise<Session>;
}

/** How long things may take, ms. */
export interface Timing {
  /** Between two looks at a container that is not ready, in its first second and after. */
  readinessPollMs: number;
  /** Between two looks at a container that is at work. */
  healthPollMs: number;
  /** A broken connection is the first that is seen of a crash: how long its exit may take. */
  exitNoticeMs: number;
  /** After a failed run, how long a container is looked at before it gets another one. */
  failureWatchMs: number;
  /** From the cancel of a run to the kill of its container. */
  cancelGraceMs: number;
  /** Between two looks whether a server has let go of a request that was closed, at least. */
  releasePollMs: number;
  /** From the polite request to end to the kill. */
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
