/** What the methods of a pool object take and return. */
import { z } from "zod";
import type { Holder } from "../../domain/scheduling/placement.ts";
import { claimRequest } from "../../protocol/runner.ts";

/** The longest a poll is held. Runners are told so when they begin a session. */
export const POLL_SECONDS = 30;

/** A runner's claim, with what the service knows of the runner. */
export const poolClaim = claimRequest.extend({
  /** The token that it came with, and when that was last known to be valid, unix ms. */
  token_id: z.string(),
  token_known_at: z.number(),
});
export type PoolClaim = z.infer<typeof poolClaim>;

/** What operators see of a pool. */
export interface PoolStatus {
  waiting: number;
  /** For how many jobs the waiting runners have room. */
  free: number;
  oldest_wait_ms: number | null;
  median_wait_ms: number | null;
}

/** Runners that have an image, the warm ones first, and how many more there are. */
export interface PoolHolders {
  runners: Holder[];
  more: number;
}

/** `none`: the job should come over the queue. `full`: its account has too many waiting jobs. */
export type OfferResult = "taken" | "none" | "full";
