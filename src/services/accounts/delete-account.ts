/**
 * Deleting an account. One transaction closes it: from then on nobody can use or see it. A sweep
 * then removes its data in batches. Every step can be repeated: the next sweep finds whatever a
 * failed or interrupted step left behind.
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
import { forgetTokens } from "./authentication.ts";
import type { Caller } from "./caller.ts";

/** Batch sizes per account and sweep. */
const OBJECTS = 100;
const ROWS = 1_000;
const MODELS = 10;

/** Per sweep. */
const ACCOUNTS = 5;

/**
 * How long the sweep keeps looking for leftovers: webhooks are retried for a day, and an object that
 * wakes up to send one may write its prediction's row once more.
 */
const LATE_MS = 48 * 3_600_000;

/** Its tokens stop working within 10 s, when the caches of isolates expire. */
export async function deleteAccount(services: Services, { user_id }: Caller): Promise<void> {
  await closeAccount(services.db, user_id, Date.now());
  forgetTokens();
  forgetModels();
  forgetEndpoints(user_id);
  // Cancels running predictions at once. If this fails, the sweep cancels them.
  const rows = await listSomeUnfinished(services.db, user_id, OBJECTS);
  await allSettled(
    user_id,
    rows.map((row) => removeData(services, row)),
  );
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
  await removePredictions(services, user.id);
  for (const { id } of await listSomeModels(db, user.id, MODELS)) {
    await reconcileUnderWay(services, id);
    await deleteModel(db, id);
  }
  await deleteUsage(db, user.id, ROWS);
  if (now - (user.deleted_at ?? now) >= LATE_MS) await endRemoval(db, user, now);
}

/**
 * Deletes the data first, as DELETE /v1/predictions/{id} does, and the row once it says that the data
 * is removed. The object reports that through the queue, which would recreate a row deleted earlier.
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

interface PredictionKey {
  id: string;
  object_id: string;
}

/** Running predictions are canceled now and removed by a later sweep. */
async function removeData(
  { env }: Services,
  { id, object_id }: PredictionKey,
): Promise<"removed" | "under way" | "unknown"> {
  const object = predictionWithId(env, object_id);
  const before = await object?.remove();
  const result =
    before === "under way" && (await object?.cancel("its account is deleted"))
      ? await object?.remove()
      : before;
  if (result === "under way") return result;
  if (result !== undefined && result !== "unknown") return "removed";
  // The object was never created or is gone, but its input may still be stored.
  await deleteAll(env.FILES, id);
  return "unknown";
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
