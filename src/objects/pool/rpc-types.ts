/** Parameters and results of the methods of a pool object. */
import { z } from "zod";
import type { NamedClassExplanation } from "../../domain/scheduling/explanation.ts";
import type { FailedInARow } from "../../domain/scheduling/failed-starts.ts";
import { claimRequest, type StateRequest } from "../../protocol/runner.ts";
import type { RunnerLogLine } from "../../protocol/runner-log.ts";
import type { ContainerState, RunnerSnapshot } from "../../protocol/runner-state.ts";
import type { RunnerJob } from "./runner-work.ts";

/** The longest that a poll is held. Runners learn it when they begin a session. */
export const POLL_SECONDS = 30;

/** A runner's claim, with what the service knows of the runner. */
export const poolClaim = claimRequest.extend({
  /** The token of the claim, and when it was last known to be valid, unix ms. */
  token_id: z.string(),
  token_known_at: z.number(),
});
export type PoolClaim = z.infer<typeof poolClaim>;

/** A runner's report on itself, with a claim or without. */
export type PoolReport = StateRequest &
  Pick<PoolClaim, "token_id"> &
  Partial<Pick<PoolClaim, "images">>;

/** Why a pool refuses a runner's report. The 409 to a poll has it as its body. */
export const reportProblem = z.enum(["superseded", "unknown", "too_large", "too_many"]);
export type ReportProblem = z.infer<typeof reportProblem>;

/** The state of a pool as operators see it. */
export interface PoolStatus {
  waiting: number;
  /** For how many jobs the waiting runners have room. */
  free: number;
  oldest_wait_ms: number | null;
  median_wait_ms: number | null;
  /** Explanation of one class; null if nobody waits. */
  explanation: NamedClassExplanation | null;
}

/** The last report of a runner to its pool, with what the pool knows of it. */
export interface ReportedRunner {
  /** Unix ms, as all times. */
  at: number;
  max_containers: number;
  devices: RunnerSnapshot["devices"];
  containers: ReportedContainer[];
  /** The runner's jobs, as far as their predictions are known. */
  jobs: Omit<RunnerJob, "number">[];
}

export interface ReportedContainer
  extends Omit<ContainerState, "key" | "phase_ms" | "idle_ms" | "runs_ms"> {
  /** `owner/name:version`; null if no job has asked for it since the pool woke up. */
  model: string | null;
  since: number;
  idle_since: number | null;
}

/**
 * How long a log is expected: a runner that is full or drained reports every 30 s, and learns of the request
 * then.
 */
export const LOG_ASKED_MS = 60_000;

/** The log of a runner, as far as an operator has asked for it in the last ten minutes. */
export interface ReportedRunnerLog {
  /** When the missing log was asked for, unix ms. It is not expected any more after a minute. */
  asked_at: number | null;
  /** When the last log came. */
  at: number | null;
  lines: RunnerLogLine[];
}

/** The connection of a runner to its pool. */
export interface RunnerCondition {
  /** Unix ms. */
  heard_at: number;
  /** Whether the runner polls, or is about to, or is full and has reported. */
  connected: boolean;
  lost_gpus: number;
  failed_starts: FailedInARow | null;
}

/** A start that a machine has failed, as its prediction reports it. */
export interface FailedJob {
  /** The runners on which the prediction's start has failed, the present one last. */
  failed_on: string[];
  reason: string;
  /** Whether the prediction waits for another runner. */
  waits: boolean;
}

/** A runner that need not download the image of a job. */
export interface Holder {
  runner_id: string;
  /** Whether a container of the image is running, with room. */
  isWarm: boolean;
}

/** Runners that have an image, the warm ones first, and how many more there are. */
export interface PoolHolders {
  runners: Holder[];
  more: number;
}

/** The forecast of a run, as far as its pool knows: from containers with the same key only. */
export interface PoolRunEstimate {
  /** Whether a container is ready and has room, on a runner that takes work. */
  isWarm: boolean;
  /** Whether a container is ready whose room is taken. */
  isBusy: boolean;
  /** Whether a runner takes work of the class. */
  isServed: boolean;
  /** How long a container takes to be ready, and a run in it, as measured lately. */
  setup_ms: number | null;
  run_ms: number | null;
}

/** `none`: the job should come over the queue. `full`: its account has too many waiting jobs. */
export type OfferResult = "taken" | "none" | "full";
