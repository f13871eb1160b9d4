/**
 * Links to single predictions, which their owners share: anybody with the link sees the prediction until it
 * expires or is revoked, its data is removed, or the account is suspended or deleted.
 */
import { isToken, newToken, sha256 } from "../../domain/accounts/token.ts";
import { conflict, notFound, ProblemError } from "../../errors/errors.ts";
import {
  deleteExpiredShares as deleteExpired,
  deleteShare,
  findShare,
  insertShare,
  listSharesOf,
  type ShareRow,
  listShares as sharesOf,
} from "../../storage/shares/shares.ts";
import type { Caller } from "../accounts/caller.ts";
import { type Page, type PageRequest, paginate } from "../pagination.ts";
import { findOwnPrediction, predictionStub } from "../predictions/predictions.ts";
import type { Services } from "../services.ts";

/** Shares per account, without those that have expired. */
const MAX_SHARES = 100;
const DAY_MS = 86_400_000;

/**
 * @returns its token, which is not shown again
 * @throws ProblemError not_found; conflict while it runs, after its data was removed, and for too many
 */
export async function createShare(
  services: Services,
  caller: Caller,
  predictionId: string,
  days: number,
): Promise<{ token: string; expires_at: number }> {
  const row = await findOwnPrediction(services, caller, predictionId);
  // The object is asked itself: the prediction's row may be behind.
  const snapshot = await (await predictionStub(services, caller, predictionId)).get(0);
  if (row.data_removed || !snapshot)
    throw conflict("Its data was removed: there is nothing to share.");
  if (!snapshot.terminal) throw conflict("Share it when it has ended.");
  const { owner, name } = services.present.prediction(row, "").model;
  const token = newToken("auss");
  const created_at = Date.now();
  const expires_at = created_at + days * DAY_MS;
  const share: ShareRow = {
    // The id is random, unlike other ids: it does not tell when the share was made.
    id: crypto.randomUUID(),
    user_id: caller.user_id,
    prediction_id: predictionId,
    model: `${owner}/${name}`,
    hash: await sha256(token),
    created_at,
    expires_at,
  };
  if (!(await insertShare(services.db, share, MAX_SHARES)))
    throw conflict(
      `An account may have ${MAX_SHARES} links at a time. Revoke one at /account/shares.`,
    );
  return { token, expires_at };
}

/** Lists shares, newest first, also those that expired within the last minutes. */
export const listShares = (
  services: Services,
  { user_id }: Caller,
  request: PageRequest,
): Promise<Page<ShareRow>> =>
  paginate(services, request, {
    name: `shares/${user_id}`,
    find: (keyset) => sharesOf(services.db, user_id, keyset),
    keyOf: ({ created_at, id }) => [created_at, id],
    present: (row) => row,
  });

/** Lists the shares of a prediction of the caller, at most as many as an account may have. */
export const readShares = ({ db }: Services, { user_id }: Caller, predictionId: string) =>
  listSharesOf(db, user_id, predictionId, Date.now());

/** @throws ProblemError not_found */
export async function revokeShare(services: Services, caller: Caller, id: string): Promise<void> {
  if (!(await deleteShare(services.db, caller.user_id, id))) throw notFound("This link");
}

export const sweepShares = async ({ db }: Services, now: number): Promise<void> => {
  await deleteExpired(db, now);
};

/**
 * Returns the share that a token opens. It is looked up by its hash, so that the time of a look-up does not
 * tell how much of the token is right.
 */
export async function openShare(services: Services, token: string): Promise<ShareRow> {
  const share = isToken(token, "auss")
    ? await findShare(services.db, await sha256(token), Date.now())
    : undefined;
  if (!share) throw shareGone();
  return share;
}

/** The error for a link that opens nothing; it does not tell the reason. */
export const shareGone = () =>
  new ProblemError(
    "not_found",
    "This link has ended, was revoked, or is not complete. Ask whoever sent it for a new one.",
  );

/** The caller as which a share is read: its owner. The share's reads are limited to its prediction. */
export const ownerOf = ({ id, user_id }: ShareRow): Caller => ({
  token_id: id,
  user_id,
  scopes: ["read"],
  models: null,
  priority: null,
});
