/**
 * The interface between the two halves of the runner. Above it: control plane, jobs, channels,
 * reports. Below it: containers, engines, interfaces.
 */
import type { Finish } from "../../../src/protocol/channel.ts";
import type { Json } from "../../../src/protocol/common.ts";
import type { Job } from "../../../src/protocol/runner.ts";
import type {
  ContainerState,
  Disks,
  Measured,
  RunnerSnapshot,
} from "../../../src/protocol/runner-state.ts";
import type { RunReporter } from "../../../src/run/run-reporter.ts";

/** A job, whose input may not have been fetched yet. */
export type JobOrder = Omit<Job, "input">;

export interface RunnableJob extends JobOrder {
  input: Record<string, Json>;
}

/**
 * The id of a run in its container. It includes the attempt because the previous attempt may still
 * be in the container if this runner was silent for a while and then got the job again.
 */
export const runIdOf = ({ prediction_id, attempt }: JobOrder): string =>
  attempt === 1 ? prediction_id : `${prediction_id}-${attempt}`;

export interface RunSignals {
  /** Stop the model; if it has not stopped after 30 s, kill its container. */
  cancel: AbortSignal;
  /** Stop immediately: the result is not wanted any more (fenced, lease lost, limits exceeded). */
  abandon: AbortSignal;
  /** When the runner took the job, as `performance.now()` says it; by default when the run begins. */
  claimedAt?: number;
}

export interface WarmContainer {
  /** `keys.container` of the jobs that may use it. */
  key: string;
  /** `owner/name:version` of the job that it was started for. */
  model: string;
}

export interface RunEnd extends Finish {
  /** The model has not begun, because of this machine: the job goes to another runner. */
  hasFailedStart?: boolean;
}

/** Room for one job, which keeps it until the job has run or is given up. */
export interface Reservation {
  /** Runs the job to its end. Never rejects: any failure is a `failed` finish. */
  run(job: RunnableJob, reporter: RunReporter, signals: RunSignals): Promise<RunEnd>;
  /** Gives the reservation up, unless the job has run. */
  leave(): void;
}

/** A container whose server responds. */
export interface ServingContainer {
  /** Unique among the containers of the runner. */
  name: string;
  /** `owner/name`. */
  model: string;
  version: string;
  address: URL;
}

/** The use of disks, in bytes, as far as it is known. */
export interface StorageUse {
  disks: Disks;
  /** Images that this runner has pulled, weights, and input files. */
  caches: { images?: number | undefined; weights?: number; inputs?: number };
}

export type ExecutorState = Pick<
  RunnerSnapshot,
  "containers" | "devices" | "disks" | "max_containers"
>;

export interface Executor {
  /**
   * Adopts the containers that a reload has left, and removes every other container and process of an earlier
   * process of this runner.
   */
  open(): Promise<void>;
  /** The containers that are ready and have room for another run. */
  warm(): WarmContainer[];
  /** `repository@digest` of the images on this machine, as of the last refresh. */
  images(): string[];
  state(): ExecutorState;
  /** The containers that are ready, also those that take no more runs. */
  serving(): ServingContainer[];
  storage(): Promise<StorageUse>;
  /** Returns the durations of setups and runs since the last call. */
  measured(): Measured[];
  /** Called when the executor's state has changed. */
  onChange: () => void;
  /**
   * @param stop names of idle containers that may be stopped for it
   * @returns why there is no room for it
   */
  reserve(job: JobOrder, stop: readonly string[]): Reservation | string;
  run: Reservation["run"];
  /**
   * Sets which containers capacity claims hold: those are not stopped for being idle.
   * @param known the containers to which the list applies
   */
  keep(names: readonly string[], known: readonly Pick<ContainerState, "name">[]): void;
  /** Stops all containers. @param options.leavesIdle whether idle containers stay for the next process */
  close(options?: { leavesIdle?: boolean }): Promise<void>;
}
