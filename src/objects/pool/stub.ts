/** How everything outside reaches pool objects. */
import type { Bindings } from "../../env.ts";
import type { PoolClaim } from "./rpc-types.ts";

export const poolOf = (env: Bindings, hardware: string) => env.POOL.getByName(hardware);

/**
 * A long poll.
 * @param signal aborts when the runner disconnects, so that no job is handed to nobody
 * @returns a ClaimResponse; 409 when a later session of the same runner has taken over, 404 when
 * the runner has no such session for this hardware
 */
export async function claimJobs(
  env: Bindings,
  claim: PoolClaim,
  signal: AbortSignal,
): Promise<Response> {
  return poolOf(env, claim.hardware).fetch("https://pool/claim", {
    method: "POST",
    body: JSON.stringify(claim),
    signal,
  });
}
