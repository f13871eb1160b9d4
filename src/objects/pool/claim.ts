/** A runner's claim as its pool is told of it: with what the service knows of the runner. */
import { z } from "zod";
import { claimRequest } from "../../protocol/runner.ts";

export const poolClaim = claimRequest.extend({
  /** What it asks with, and when that was last found good, unix ms. */
  token_id: z.string(),
  token_known_at: z.number(),
});
export type PoolClaim = z.infer<typeof poolClaim>;
