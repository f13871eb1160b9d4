/**
 * Suspending accounts: their tokens are refused, their sessions and streams end, and their running
 * predictions are canceled. Their data stays, and is available again once the account is restored.
 */
import { conflict } from "../../errors/errors.ts";
import { logger } from "../../log.ts";
import { predictionWithId } from "../../objects/stubs/prediction.ts";
import type { SuspendedModels } from "../../protocol/operator.ts";
import { listMemberships } from "../../storage/accounts/organizations.ts";
import { listSuspended, restoreUser, suspendUser } from "../../storage/accounts/people.ts";
import { findAccount, getUser } from "../access/accounts.ts";
import { forgetTokens } from "../access/authentication.ts";
import { userTarget } from "../audit/people.ts";
import { auditEntry } from "../audit/record.ts";
import { forgetModels } from "../predictions/version-resolution.ts";
import type { Services } from "../services.ts";
import { unlessOwnerless } from "./delete-account.ts";

/** Runs canceled per account at once: each is a call to an object, and a request can make 1,000. */
const RUNS = 500;

/** The most accounts that may be suspended within `LATE_MS`. */
const MAX_LATE = 200;

/** How long to look for predictions created by isolates that still had the token cached. */
const LATE_MS = 10 * 60_000;

/**
 * Suspends an account, which takes effect within the 10 s that isolates cache tokens and models.
 * @param of `hide` makes the account's models private, also after it is restored; `by` is the user who suspends it
 * @throws ProblemError not_found; conflict for oneself and for the only owner of an organization
 */
export async function suspendAccount(
  services: Services,
  username: string,
  { models, by }: { models: SuspendedModels; by: string | undefined },
): Promise<void> {
  const { id, operator_since } = await getUser(services, username);
  if (id === by) throw conflict("You cannot suspend your own account. Another operator can.");
  const entry = auditEntry({
    action: "user.suspended",
    account_id: id,
    targets: [userTarget({ id, username })],
    before: { models: null, operator: operator_since !== null },
    after: { models, operator: false },
  });
  const suspending = suspendUser(services.db, id, Date.now(), models === "hide", entry);
  await unlessOwnerless(services, id, suspending);
  forgetTokens();
  forgetModels();
  await cancelRuns(services, id);
}

/** Restores an account: its tokens work again and its user can log in. @throws ProblemError not_found */
export async function restoreAccount(services: Services, username: string): Promise<void> {
  const { id } = await getUser(services, username);
  const targets = [userTarget({ id, username })];
  const entry = auditEntry({ action: "user.restored", account_id: id, targets });
  await restoreUser(services.db, id, entry);
  forgetTokens();
}

/** Cancels what recently suspended accounts still run. */
export async function sweepSuspended(services: Services, now: number): Promise<void> {
  const late = await listSuspended(services.db, now - LATE_MS, MAX_LATE);
  for (const { id } of late) await cancelRuns(services, id);
}

/** Cancels the runs of an account, and those that a person has made for organizations. */
async function cancelRuns(services: Services, userId: string): Promise<void> {
  const memberships = await listMemberships(services.db, userId, MAX_LATE);
  await cancelRunsOf(services, userId, undefined);
  for (const { organization_id } of memberships)
    await cancelRunsOf(services, organization_id, userId);
}

async function cancelRunsOf(
  services: Services,
  userId: string,
  maker: string | undefined,
): Promise<void> {
  const { env } = services;
  const rows = (await (await findAccount(services, userId))?.unfinished(RUNS, maker)) ?? [];
  const results = await Promise.allSettled(
    rows.map(({ object_id }) =>
      predictionWithId(env, object_id)?.cancel("its account is suspended"),
    ),
  );
  for (const result of results)
    if (result.status === "rejected")
      logger.error("Prediction of a suspended account not canceled", {
        user_id: userId,
        error: result.reason,
      });
}
