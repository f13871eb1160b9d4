/** The only door to pools. */
import type { Bindings } from "../../env.ts";
import type { PoolClaim } from "./claim.ts";

export const poolOf = (env: Bindings, hardware: string) => env.POOL.getByName(hardware);

/**
 * A long poll. @param signal aborts when the runner has gone, so that no job is handed to nobody.
 * @returns a ClaimResponse, or undefined when a later session of the same runner has taken over.
 */
export async function claimJobs(
  env: Bindings,
  claim: PoolClaim,
  signal: AbortSignal,
): Promise<Response | undefined> {
  const response = await poolOf(env, claim.hardware).fetch("https://pool/claim", {
    method: "POST",
    body: JSON.stringify(claim),
    signal,
  });
  return response.status === 409 ? undefined : response;
}
