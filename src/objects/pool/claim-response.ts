/** The response to a runner's claim. */
import { formatLease, leaseProof } from "../../domain/predictions/lease.ts";
import { grantEnd, signGrant } from "../../domain/registry/grant.ts";
import { modelOfRepository } from "../../domain/registry/own-image.ts";
import type { Settings } from "../../env.ts";
import { arrayText, objectText } from "../../lib/json-splice.ts";
import type { Image } from "../../protocol/runner.ts";
import type { Handed } from "./pool-runner.ts";
import type { PoolClaim } from "./rpc-types.ts";

/** A ClaimResponse as JSON text. Inputs are passed on verbatim. @param log whether an operator asks for the runner's log */
export async function claimResponseText(
  handed: Handed[],
  { token_id, runner_id }: PoolClaim,
  settings: Settings,
  log: boolean,
): Promise<string> {
  const texts = handed.map(async ({ number, stop, offered }) => {
    const { job, lease: secretLease, input } = offered;
    const { objectId, secret } = secretLease;
    const proof = await leaseProof(secret, token_id, runner_id);
    const lease = formatLease({ attempt: job.attempt, objectId, runnerId: runner_id, proof });
    const image = await withGrant(job.image, token_id, settings);
    return objectText(
      { ...job, image, lease, handout: number, stop },
      input === undefined ? {} : { input },
    );
  });
  return objectText(log ? { log } : {}, { jobs: arrayText(await Promise.all(texts)) });
}

/** Made here, as the lease is: for the token that the job is claimed with. */
async function withGrant(
  image: Image,
  token_id: string,
  { secretKeys, setupTimeoutSeconds }: Settings,
): Promise<Image> {
  const model_id = modelOfRepository(image.repository);
  if (model_id === undefined) return image;
  const expires_at = grantEnd(Date.now(), setupTimeoutSeconds);
  const grant = await signGrant(secretKeys, { model_id, token_id, expires_at });
  return grant === undefined ? image : { ...image, grant };
}
