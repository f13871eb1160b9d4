/** What the methods of a pool object take and return. */
import { z } from "zod";
import type { NamedClassExplanation } from "../../domain/scheduling/named-explanation.ts";
import { claimRequest, type StateRequest } from "../../protocol/runner.ts";

/** The longest a poll is held. Runners are told so when they begin a session. */
export const POLL_SECONDS = 30;

/** A runner's claim, with what the service knows of the runner. */
export const poolClaim = claimRequest.extend({
  /** The token that it came with, and when that was last known to be valid, unix ms. */
  token_id: z.string(),
  token_known_at: z.number(),
});
export type PoolClaim = z.infer<typeof poolClaim>;

/** What a runner tells of itself, with a claim or without. */
export type PoolTelling = StateRequest & Partial<Pick<PoolClaim, "images">>;

/** What operators see of a pool. */
export interface PoolStatus {
  waiting: number;
  /** For how many jobs the waiting runners have room. */
  free: number;
  oldest_wait_ms: number | null;
  median_wait_ms: number | null;
  /** Of one class; null if nobody waits. */
  explanation: NamedClassExplanation | null;
}

/** A runner that need not download the image of a job. */
export interface Holder {
  runner_id: string;
  /** Whether a container of it is running, with room. */
  isWarm: boolean;
}

/** Runners that have an image, the warm ones first, and how many more there are. */
export interface PoolHolders {
  runners: Holder[];
  more: number;
}

/** What to expect of a run, as far as its pool knows: of containers with the same key only. */
export interface PoolOutlook {
  /** Whether a container is ready and has room. */
  isWarm: boolean;
  /** How long a container takes to be ready, and a run in it, as measured lately. */
  setup_ms: number | null;
  run_ms: number | null;
}

/** `none`: the job should come over the queue. `full`: its account has too many waiting jobs. */
export type OfferResult = "taken" | "none" | "full";
