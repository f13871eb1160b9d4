/**
 * Giving up an account. At once, in one transaction, nobody can use or see it any more; what it had
 * is removed by the sweep, some at a time. Each step can be repeated: whatever a step that failed,
 * or a death in between, has left behind is there to be found by the next sweep.
 */
import { logger } from "../../log.ts";
import { predictionWithId } from "../../objects/prediction/stub.ts";
import {
  closeAccount,
  deleteUsage,
  endRemoval,
  listFirstPredictions,
  listSomeModels,
  listSomeUnfinished,
  revokeAccess,
  takeClosedAccounts,
} from "../../storage/accounts/account-removal.ts";
import type { UserRow } from "../../storage/accounts/users.ts";
import { deleteAvatars } from "../../storage/files/avatars.ts";
import { deleteAll } from "../../storage/files/files.ts";
import { deleteModel } from "../../storage/models/models.ts";
import { deletePredictions, markDataRemoved } from "../../storage/predictions/predictions.ts";
import { forgetEndpoints } from "../../storage/webhooks/endpoint-cache.ts";
import { reconcileUnderWay } from "../predictions/reconcile.ts";
import { forgetModels } from "../predictions/version-resolution.ts";
import type { Services } from "../services.ts";
import type { Caller } from "./caller.ts";
import { forgetTokens } from "./tokens.ts";

/** Of one account in one sweep, or at once. */
const OBJECTS = 100;
const ROWS = 1_000;
const MODELS = 10;

/** In one sweep. */
const ACCOUNTS = 5;

/**
 * How long what is gone is still looked for: webhooks of its predictions are tried for a day, and
 * an object that wakes up for one may send the row of its prediction once more.
 */
const LATE_MS = 48 * 3_600_000;

/** Its tokens are dead within the time that isolates remember them, 10 s. */
export async function deleteAccount(services: Services, { user_id }: Caller): Promise<void> {
  await closeAccount(services.db, user_id, Date.now());
  forgetTokens();
  forgetModels();
  forgetEndpoints(user_id);
  // Nobody waits any longer for what runs. It is canceled by the sweep if that fails here.
  const rows = await listSomeUnfinished(services.db, user_id, OBJECTS);
  await allSettled(
    user_id,
    rows.map((row) => removeData(services, row)),
  );
}

/** Removes some more of what the accounts have that were given up. */
export async function sweepAccounts(services: Services, now: number): Promise<void> {
  const leaving = await takeClosedAccounts(services.db, now, ACCOUNTS);
  await Promise.all(leaving.map((user) => allSettled(user.id, [remove(services, user, now)])));
}

async function remove(services: Services, user: UserRow, now: number): Promise<void> {
  const { env, db } = services;
  await revokeAccess(db, user.id);
  await deleteAvatars(env.FILES, user.id);
  await removePredictions(services, user.id);
  for (const { id } of await listSomeModels(db, user.id, MODELS)) {
    await reconcileUnderWay(services, id);
    await deleteModel(db, id);
  }
  await deleteUsage(db, user.id, ROWS);
  if (now - (user.deleted_at ?? now) >= LATE_MS) await endRemoval(db, user, now);
}

/**
 * The data first, as DELETE /v1/predictions/{id} does; the row when it says that the data is gone.
 * The object says so by the queue, and a row that were deleted before would be there again.
 */
async function removePredictions(services: Services, userId: string): Promise<void> {
  const { db } = services;
  const rows = await listFirstPredictions(db, userId, ROWS);
  const kept = rows.filter(({ data_removed }) => !data_removed).slice(0, OBJECTS);
  const found = await allSettled(
    userId,
    kept.map(async (row) => ((await removeData(services, row)) === "unknown" ? [row.id] : [])),
  );
  await markDataRemoved(db, userId, found.flat());
  const last = rows.at(-1);
  if (last) await deletePredictions(db, userId, last.id);
}

interface Place {
  id: string;
  object_id: string;
}

/** What is under way is canceled, and removed by a later sweep. */
async function removeData(
  { env }: Services,
  { id, object_id }: Place,
): Promise<"removed" | "under way" | "unknown"> {
  const object = predictionWithId(env, object_id);
  const before = await object?.remove();
  const result =
    before === "under way" && (await object?.cancel("its account is deleted"))
      ? await object?.remove()
      : before;
  if (result === "under way") return result;
  if (result !== undefined && result !== "unknown") return "removed";
  // Its object was never begun, or is gone: its input may be there all the same.
  await deleteAll(env.FILES, id);
  return "unknown";
}

/** One that fails must not hold up the others: its turn comes again. */
async function allSettled<T>(user_id: string, steps: Promise<T>[]): Promise<T[]> {
  const results = await Promise.allSettled(steps);
  return results.flatMap((result) => {
    if (result.status === "fulfilled") return [result.value];
    logger.error("Data of a deleted account not removed", { user_id, error: result.reason });
    return [];
  });
}
