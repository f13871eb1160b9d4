/**
 * Deletes the rows of old predictions, whose data was deleted before. Usage and the run counts of
 * models keep counting them.
 */
import { firstIdAt } from "../../lib/uuid-time.ts";
import { logger } from "../../log.ts";
import { takeAccountsToSweep } from "../../storage/accounts/account-bytes.ts";
import {
  deletePredictions,
  findLastRemoved,
  findUnremoved,
  markDataRemoved,
  projectPredictions,
} from "../../storage/predictions/predictions.ts";
import type { Services } from "../services.ts";
import { checkRows } from "./reconcile.ts";

/** Per sweep: a hundred thousand rows of one user are deleted in an hour. */
const MAX_USERS = 50;
const MAX_ROWS = 2_000;
/** Per user and sweep, rows whose data is not known to be deleted: their objects are asked. */
const MAX_OBJECTS = 20;

/** Deletes a batch of rows that are older than the history is kept. */
export async function sweepHistory(services: Services, now: number): Promise<void> {
  const { db, settings } = services;
  const before = firstIdAt(now - settings.historySeconds * 1000);
  const users = (await takeAccountsToSweep(db, now, MAX_USERS)).map(({ user_id }) => user_id);
  const lasts = await findLastRemoved(db, users, before, MAX_ROWS);
  for (const [n, user] of users.entries()) {
    try {
      const last = lasts[n];
      if (last) await deletePredictions(db, user, last);
      else await reconcileUser(services, user, before);
    } catch (error) {
      // A user whose rows fail must not hold up the others; the next sweep tries again.
      logger.error("Prediction history not removed", { user_id: user, error });
    }
  }
}

/** Repairs rows whose queue message that the data was deleted has been lost. */
async function reconcileUser(services: Services, user: string, before: string): Promise<void> {
  const { db } = services;
  const rows = await findUnremoved(db, user, before, MAX_OBJECTS);
  const checked = await checkRows(services, rows);
  await projectPredictions(
    db,
    checked.flatMap(({ current }) => current ?? []),
  );
  const gone = checked.filter(({ current }) => current === undefined);
  if (gone.length > 0) {
    await markDataRemoved(
      db,
      user,
      gone.map(({ row }) => row.id),
    );
  }
}
