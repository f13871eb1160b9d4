/**
 * The lease token of an attempt: `<attempt>.<object id>.<runner id>.<proof>`. Opaque to runners.
 * The pool makes it when it hands a job out; the proof is worth something only to that runner, and
 * only together with the token that it asked with.
 */
import { sha256 } from "../accounts/token.ts";

export interface Lease {
  attempt: number;
  objectId: string;
  runnerId: string;
  proof: string;
}

/** Who comes with a lease. */
export interface LeaseHolder {
  lease: string;
  /** Of the runner token that came with it, and when that was last found good, unix ms. */
  token_id: string;
  token_known_at: number;
}

/** How long a runner token counts as good after it was found so, ms. */
export const TOKEN_MS = 10_000;

const HALF = 36;

/** Of an attempt, known to prediction and pool alone: for proofs, and the receipt. */
export const newSecret = () => crypto.randomUUID() + crypto.randomUUID();

/** Shows that the attempt with this secret was handed to this runner under this token. */
export const leaseProof = (secret: string, tokenId: string, runnerId: string): Promise<string> =>
  sha256(`${secret.slice(0, HALF)} ${tokenId} ${runnerId}`);

/** What a runner is given when it is heard at its prediction: shows the pool that it was. */
export const receiptOf = (secret: string): string => secret.slice(HALF);

export const formatLease = ({ attempt, objectId, runnerId, proof }: Lease) =>
  `${attempt}.${objectId}.${runnerId}.${proof}`;

export function parseLease(text: string): Lease | undefined {
  const [, attempt, objectId, runnerId, proof] =
    /^(\d{1,6})\.([0-9a-f]{64})\.([0-9a-f-]{36})\.([0-9a-f]{64})$/.exec(text) ?? [];
  return attempt && objectId && runnerId && proof
    ? { attempt: Number(attempt), objectId, runnerId, proof }
    : undefined;
}
