/**
 * The end of predictions: some time after its data a prediction's row goes too. What it counted for
 * stays counted, in usage and in how often its model was run.
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
import { reconciledRow } from "./reconcile.ts";

/** In one sweep: a hundred thousand rows of one account go in an hour. */
const ACCOUNTS = 50;
const ROWS = 2_000;
/** Of an account: rows that do not say that the data is gone, whose objects are asked. */
const OBJECTS = 20;

/** Removes some of the rows that have had their time. */
export async function sweepHistory(services: Services, now: number): Promise<void> {
  const { db, settings } = services;
  const before = firstIdAt(now - settings.historySeconds * 1000);
  const users = (await takeAccountsToSweep(db, now, ACCOUNTS)).map(({ user_id }) => user_id);
  const lasts = await findLastRemoved(db, users, before, ROWS);
  for (const [n, user] of users.entries()) {
    try {
      const last = lasts[n];
      if (last) await deletePredictions(db, user, last);
      else await askObjects(services, user, before);
    } catch (error) {
      // One that fails must not hold up the others: its turn comes again.
      logger.error("Prediction history not removed", { user_id: user, error });
    }
  }
}

/** That its data is removed was to be told by the queue: what was lost on the way is made up for. */
async function askObjects(services: Services, user: string, before: string): Promise<void> {
  const { db } = services;
  const rows = await findUnremoved(db, user, before, OBJECTS);
  const known = await Promise.all(rows.map((row) => reconciledRow(services, row)));
  await projectPredictions(
    db,
    known.filter((row) => row !== undefined),
  );
  const gone = rows.filter((_, n) => known[n] === undefined);
  if (gone.length > 0) {
    await markDataRemoved(
      db,
      user,
      gone.map(({ id }) => id),
    );
  }
}
