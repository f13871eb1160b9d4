/**
 * The lease token of an attempt: `<attempt>.<object id>.<runner id>.<proof>`, opaque to runners.
 * The pool makes it when it hands out a job. The proof is valid only for that runner, together with
 * the token that it claimed the job with.
 */
import { sha256 } from "../accounts/token.ts";

export interface Lease {
  attempt: number;
  objectId: string;
  runnerId: string;
  proof: string;
}

export interface LeaseHolder {
  lease: string;
  /** The runner token of the request, and when that was last known to be valid, unix ms. */
  token_id: string;
  token_known_at: number;
}

/** The first half of a secret is for proofs, the second is the receipt. */
const HALF_LENGTH = 36;

/** The secret of an attempt, known only to the prediction and the pool. */
export const newSecret = () => crypto.randomUUID() + crypto.randomUUID();

/** Proves that the attempt with this secret was handed to this runner under this token. */
export const leaseProof = (secret: string, tokenId: string, runnerId: string): Promise<string> =>
  sha256(`${secret.slice(0, HALF_LENGTH)} ${tokenId} ${runnerId}`);

/** Returns the receipt that a runner gets when it connects to its prediction; it proves that to the pool. */
export const receiptOf = (secret: string): string => secret.slice(HALF_LENGTH);

export const formatLease = ({ attempt, objectId, runnerId, proof }: Lease) =>
  `${attempt}.${objectId}.${runnerId}.${proof}`;

export function parseLease(text: string): Lease | undefined {
  const [, attempt, objectId, runnerId, proof] =
    /^(\d{1,6})\.([0-9a-f]{64})\.([0-9a-f-]{36})\.([0-9a-f]{64})$/.exec(text) ?? [];
  return attempt && objectId && runnerId && proof
    ? { attempt: Number(attempt), objectId, runnerId, proof }
    : undefined;
}
