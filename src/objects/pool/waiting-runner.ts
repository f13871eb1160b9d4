/** A runner's place in a pool, and what it is handed there. */
import { formatLease, leaseProof } from "../../domain/predictions/lease.ts";
import type { WaitingJob } from "../../protocol/queue.ts";
import type { OfferedJob } from "../prediction/job-messages.ts";
import type { PoolClaim } from "./claim.ts";

export interface Offer {
  offered: OfferedJob;
  waiting: WaitingJob;
}

export interface WaitingRunner {
  runner_id: string;
  session: string;
  hardware: string;
  slots: number;
  /** How many it has asked for, and how many of these it may still get. */
  asked: number;
  free: number;
  warm: ReadonlySet<string>;
  images: ReadonlySet<string>;
  /** An operator wants it to take no more work: it may ask, and is handed nothing. */
  draining: boolean;
  /** Answers the open poll; undefined while the runner is between two polls. */
  answer: ((jobs: OfferedJob[]) => void) | undefined;
  /** Until when the runner is expected back, unix ms. */
  until: number;
  /** What it will be handed when it is. */
  reserved: Offer[];
}

/** A ClaimResponse as text: inputs are passed on as they are. */
export async function claimText(
  jobs: OfferedJob[],
  { token_id, runner_id }: PoolClaim,
): Promise<string> {
  const writing = jobs.map(async ({ job, lease: { objectId, secret }, input }) => {
    const proof = await leaseProof(secret, token_id, runner_id);
    const lease = formatLease({ attempt: job.attempt, objectId, runnerId: runner_id, proof });
    const text = JSON.stringify({ ...job, lease });
    return input === undefined ? text : `${text.slice(0, -1)},"input":${input}}`;
  });
  return `{"jobs":[${(await Promise.all(writing)).join(",")}]}`;
}
