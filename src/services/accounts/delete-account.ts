/**
 * Deleting an account. One transaction closes it: from then on nobody can use or see it. A sweep
 * then removes its data in batches. Every step can be repeated: the next sweep finds whatever a
 * failed or interrupted step left behind.
 */

import { lastDays } from "../../domain/accounts/usage.ts";
import { conflict } from "../../errors/errors.ts";
import { logger } from "../../log.ts";
import type { AccountStub } from "../../objects/stubs/account.ts";
import {
  closeAccount,
  endRemoval,
  listSomeModels,
  revokeAccess,
  takeClosedAccounts,
} from "../../storage/accounts/account-removal.ts";
import { deleteUsageOf } from "../../storage/accounts/account-usage.ts";
import { isOwnerless, listOnlyOwned } from "../../storage/accounts/organizations.ts";
import { findUser, type UserRow } from "../../storage/accounts/users.ts";
import { deleteAvatars } from "../../storage/files/files.ts";
import { deleteCounts } from "../../storage/models/counts.ts";
import { deleteModel } from "../../storage/models/models.ts";
import { forgetEndpoints } from "../../storage/webhooks/endpoint-cache.ts";
import type { Caller } from "../access/access.ts";
import { findAccount } from "../access/accounts.ts";
import { forgetTokens } from "../access/authentication.ts";
import { memberEntry } from "../audit/people.ts";
import { auditEntry } from "../audit/record.ts";
import { forgetModels } from "../predictions/version-resolution.ts";
import type { Services } from "../services.ts";
import { keptDays } from "./deployment-usage.ts";

/** Batch sizes per account and sweep. */
const ROWS = 1_000;
const MODELS = 10;

/** Accounts per sweep. */
const ACCOUNTS = 5;

/** How long the sweep keeps looking for what requests in progress may have created meanwhile. */
const LATE_MS = 48 * 3_600_000;

/**
 * Closes the account. Its tokens stop working within 10 s, when the caches of isolates expire.
 * @throws ProblemError conflict for the only owner of an organization
 */
export async function deleteAccount(
  services: Services,
  { user_id }: Pick<Caller, "user_id">,
): Promise<void> {
  const user = await findUser(services.db, user_id);
  if (!user) return;
  const closing = closeAccount(services.db, user_id, Date.now(), deletionEntries(user));
  await unlessOwnerless(services, user_id, closing);
  forgetTokens();
  forgetModels();
  forgetEndpoints(user_id);
  // `closeObject` cancels and removes the account's predictions. If it fails, the sweep does the same.
  await allSettled(user_id, [closeObject(services, user_id)]);
}

function deletionEntries(user: UserRow) {
  const { id, kind, username } = user;
  const targets = [{ type: kind, id, name: username }];
  return {
    deleted: auditEntry({ action: `${kind}.deleted`, account_id: id, targets }),
    left: memberEntry("member.removed", "", user, {}),
  };
}

/** Removes the next batch of data of deleted accounts. */
export async function sweepAccounts(services: Services, now: number): Promise<void> {
  const leaving = await takeClosedAccounts(services.db, now, ACCOUNTS);
  await Promise.all(leaving.map((user) => allSettled(user.id, [remove(services, user, now)])));
}

async function remove(services: Services, user: UserRow, now: number): Promise<void> {
  const { env, db } = services;
  await revokeAccess(db, user.id);
  await deleteAvatars(env.FILES, user.id);
  const account = await closeObject(services, user.id);
  for (const { id } of await listSomeModels(db, user.id, MODELS)) await deleteModel(db, id, now);
  if (now - (user.deleted_at ?? now) < LATE_MS) return;
  // The counts are deleted last: a message that came later would add its runs to the models a second time.
  await deleteCounts(db, user.id, ROWS);
  await deleteUsageOf(db, user.id, lastDays(keptDays(services), now));
  if (!account || (await account.isEmpty())) await endRemoval(db, user, now);
}

/** Closes the account's object, which then removes its predictions by itself and refuses late ones. */
async function closeObject(services: Services, userId: string): Promise<AccountStub | undefined> {
  const account = await findAccount(services, userId);
  await account?.close(userId);
  return account;
}

/** A failed step does not block the others: the next sweep retries it. */
async function allSettled<T>(user_id: string, steps: Promise<T>[]): Promise<T[]> {
  const results = await Promise.allSettled(steps);
  return results.flatMap((result) => {
    if (result.status === "fulfilled") return [result.value];
    logger.error("Data of a deleted account not removed", { user_id, error: result.reason });
    return [];
  });
}

/** @throws ProblemError conflict, if the write failed because an organization would have no owner */
export async function unlessOwnerless<Result>(
  { db }: Services,
  userId: string,
  writing: Promise<Result>,
): Promise<Result> {
  try {
    return await writing;
  } catch (error) {
    if (!isOwnerless(error)) throw error;
    const names = (await listOnlyOwned(db, userId)).map(({ username }) => username);
    throw conflict(
      `This user is the only owner of ${names.join(", ")}. Make somebody else an owner first, or delete the organization.`,
    );
  }
}
