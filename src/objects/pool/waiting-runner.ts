/** A runner as its pool knows it, and the response to its claim. */
import { formatLease, leaseProof } from "../../domain/predictions/lease.ts";
import { grantEnd, signGrant } from "../../domain/registry/grant.ts";
import { modelOfRepository } from "../../domain/registry/own-image.ts";
import type { Settings } from "../../env.ts";
import { arrayText, objectText } from "../../lib/json-splice.ts";
import type { WaitingJob } from "../../protocol/queue.ts";
import type { Image } from "../../protocol/runner.ts";
import type { OfferedJob } from "../prediction/job-messages.ts";
import type { PoolClaim } from "./rpc-types.ts";

export interface Offer {
  offered: OfferedJob;
  waiting: WaitingJob;
}

export interface WaitingRunner {
  runner_id: string;
  session: string;
  pool: string;
  hardware: readonly string[];
  slots: number;
  /** How many jobs it has requested, and how many of these it may still get. */
  requested: number;
  free: number;
  warm: ReadonlySet<string>;
  images: ReadonlySet<string>;
  /** An operator drains it: it may poll, and is handed nothing. */
  draining: boolean;
  /** Responds to the open poll; undefined between two polls. */
  respond: ((jobs: OfferedJob[]) => void) | undefined;
  /** Until when it is expected to poll again, unix ms. */
  expected_until: number;
  /** What it is handed when it does. */
  reserved: Offer[];
}

/** A ClaimResponse as JSON text. Inputs are passed on verbatim. */
export async function claimResponseText(
  jobs: OfferedJob[],
  { token_id, runner_id }: PoolClaim,
  settings: Settings,
): Promise<string> {
  const texts = jobs.map(async ({ job, lease: { objectId, secret }, input }) => {
    const proof = await leaseProof(secret, token_id, runner_id);
    const lease = formatLease({ attempt: job.attempt, objectId, runnerId: runner_id, proof });
    const image = await withGrant(job.image, token_id, settings);
    return objectText({ ...job, image, lease }, input === undefined ? {} : { input });
  });
  return objectText({}, { jobs: arrayText(await Promise.all(texts)) });
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
