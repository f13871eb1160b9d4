/** The only way to pool objects. */

import { z } from "zod";
import type { NamedClassExplanation } from "../../domain/scheduling/explanation.ts";
import type { FailedInARow } from "../../domain/scheduling/failed-starts.ts";
import type { Bindings } from "../../env.ts";
import { logger } from "../../log.ts";
import type { LocationHint } from "../../protocol/hardware.ts";
import type { ClaimRequest, Job, StateRequest } from "../../protocol/runner.ts";
import type { RunnerLogLine } from "../../protocol/runner-log.ts";
import type { ContainerState, DiskUse, RunnerSnapshot } from "../../protocol/runner-state.ts";
import { database } from "../../storage/database.ts";
import { markPoolMade } from "../../storage/runners/pools.ts";
import { ANSWER_MS, bounded, repeated } from "./bounded.ts";
import { inJurisdiction } from "./jurisdiction.ts";

/** The longest that a poll is held. Runners learn it when they begin a session. */
export const POLL_SECONDS = 30;

/** A runner's claim, with what the service knows of the runner. */
export interface PoolClaim extends ClaimRequest {
  /** The token of the claim, and when it was last known to be valid, unix ms. */
  token_id: string;
  token_known_at: number;
}

/** Why a pool refuses a runner's report. The 409 to a poll has it as its body. */
export const reportProblem = z.enum(["superseded", "unknown", "too_large", "too_many"]);

/**
 * How long a log is expected: a runner that is full or drained reports every 30 s, and learns of the request
 * then.
 */
export const LOG_ASKED_MS = 60_000;

export const runnerJob = z.object({
  number: z.number(),
  prediction_id: z.string(),
  user_id: z.string(),
  /** `owner/name:version` */
  model: z.string(),
  /** When the job was handed out, unix ms. */
  at: z.number(),
});

interface PoolOptions {
  /** How long the pool may take to answer. */
  ms?: number;
  /** The place of the pool, if this call makes it. */
  locationHint?: LocationHint;
}

/**
 * Returns the stub of a pool. The first call makes the pool, and it stays there: operators' pages ask
 * `poolIfMade`.
 */
export function poolOf(env: Bindings, pool: string, { ms, locationHint }: PoolOptions = {}) {
  const place = locationHint && { locationHint };
  return bounded(() => inJurisdiction(env, env.POOL).getByName(pool, place), {
    ms,
    // An offer is not repeatable: the runner that was handed the job has it.
    repeatable: [
      "enqueue",
      "withdraw",
      "removeRunner",
      "refreshRunner",
      "reportMissed",
      "reportDismissed",
      "suspendedRunners",
      "conditions",
      "reports",
      "holders",
      "runEstimate",
      "waitOf",
      "status",
      "gauges",
      "explain",
      "report",
      "setCapacityClaims",
      "capacityStatuses",
      "previewClaim",
      "askForLog",
      "log",
      // A log that is sent twice is dropped the second time.
      "takeLog",
    ],
  });
}

/**
 * A long poll. A poll that its pool's end has broken off is repeated: a job that it may have been handed by
 * then goes to another runner, since this one does not connect.
 * @param signal aborts when the runner disconnects, so that no job is handed to nobody
 * @returns a ClaimResponse; 409 when a later session of the same runner has taken over, 404 when the runner
 * has no such session in this pool, 429 when it reports more than the pool has room for
 */
export async function claimJobs(
  env: Bindings,
  claim: PoolClaim,
  signal: AbortSignal,
): Promise<Response> {
  const body = JSON.stringify(claim);
  return repeated(() => {
    const pool = poolOf(env, claim.pool, { ms: POLL_SECONDS * 1_000 + ANSWER_MS });
    return pool.fetch("https://pool/claim", { method: "POST", body, signal });
  }, signal);
}

/**
 * Registration of a pool in D1 once it has been made: until then operators' pages do not ask it
 * (services/runners/pools.ts).
 */

/**
 * Registers the pool at each start, which costs D1 one row read: the next start makes up for one that fails.
 */
export async function registerPool(env: Bindings, pool: string | undefined): Promise<void> {
  if (pool === undefined) return;
  await repeated(() => markPoolMade(database(env.DB), pool, Date.now())).catch((error) =>
    logger.warn("Pool not shown as made", { pool, error }),
  );
}

/** A runner's report on itself, with a claim or without. */
export type PoolReport = StateRequest &
  Pick<PoolClaim, "token_id"> &
  Partial<Pick<PoolClaim, "images">>;

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

interface ReportedContainer
  extends Omit<ContainerState, "key" | "phase_ms" | "idle_ms" | "runs_ms"> {
  /** `owner/name:version`; null if no job has asked for it since the pool woke up. */
  model: string | null;
  since: number;
  idle_since: number | null;
}

/** The log of a runner, as far as an operator has asked for it in the last ten minutes. */
export interface ReportedRunnerLog {
  /** When the missing log was asked for, unix ms. It is not expected any more after a minute. */
  asked_at: number | null;
  /** When the last log came. */
  at: number | null;
  lines: RunnerLogLine[];
}

export interface RunnerCondition {
  /** Unix ms. */
  reported_at: number;
  /** Whether the runner polls, or is about to, or is full and has reported. */
  connected: boolean;
  lost_gpus: number;
  /** Degrees Celsius; null if no GPU tells its temperature. */
  hottest_gpu: number | null;
  /** Null if the runner can see none. */
  fullest_disk: DiskUse | null;
  failed_starts: FailedInARow | null;
}

export interface FailedJob {
  /** The runners on which the prediction's start has failed, the present one last. */
  failed_on: string[];
  reason: string;
  /** Whether the prediction waits for another runner. */
  waits: boolean;
}

/** A runner that need not download the image of a job. */
interface Holder {
  runner_id: string;
  /** Whether a container of the image is running, with room. */
  isWarm: boolean;
}

/** Runners that have an image, the warm ones first, and how many more there are. */
export interface PoolHolders {
  runners: Holder[];
  more: number;
}

/** The `min_instances` and `max_instances` of a deployment's release, as containers of one key. */
export const capacityClaim = z.object({
  deployment_id: z.string(),
  release: z.number(),
  owner_id: z.string(),
  hardware: z.string(),
  gpus: z.number(),
  container_key: z.string(),
  min: z.number(),
  /** Null: any number. */
  max: z.number().nullable(),
});
export type CapacityClaim = z.infer<typeof capacityClaim>;

export interface CapacityClaimStatus
  extends Pick<CapacityClaim, "deployment_id" | "release" | "container_key"> {
  /** Containers that the claim holds, on runners that are neither drained nor set aside. */
  ready: number;
  starting: number;
  /** Warm-ups that wait for room. */
  waiting: number;
  /** Warm-ups to create now. */
  missing: number;
}

/** The containers that a claim takes from others. */
export interface ClaimPreview {
  /** Runners of the class that take jobs. */
  runners: number;
  /** Containers of the class that these could have, if they had no others but those of other claims. */
  capacity: number;
  /** The `capacity` once the release that runs has stopped. */
  most: number;
  /** Containers that would be stopped, or would get no more jobs, for it now: `owner/name`, or the image. */
  displaces: { model: string; containers: number }[];
  /** How long a setup of such a container is expected to take; null if none was measured. */
  setup_ms: number | null;
}

/** `none`: the job should come over the queue. `full`: its account has too many waiting jobs. */
export type OfferResult = "taken" | "none" | "full";

export type RunnerJob = z.infer<typeof runnerJob>;

/** A job on its way to a runner. The input is not parsed: it is only passed on. */
export interface OfferedJob {
  job: Omit<Job, "input" | "lease" | "handout" | "stop">;
  /** The parts of the lease, which the pool makes for the runner that it hands the job to. */
  lease: { objectId: string; secret: string };
  input: string | undefined;
}
