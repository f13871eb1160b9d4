/**
 * The repair of rows that are overdue: each row that is not terminal is held against its object
 * now and then, so that a projection that was lost for good is made up for.
 */
import { predictionWithId, projectionAt } from "../objects/prediction/stub.ts";
import type { ProjectionMessage } from "../protocol/queue.ts";
import { type PredictionRow, projectPredictions, takeOverdue } from "../storage/predictions.ts";
import type { Services } from "./services.ts";

const CHECK_EVERY_MS = 5 * 60_000;
const ROWS = 100;

/** @returns how many rows were held against their objects. */
export async function sweep({ env, db }: Services, now: number): Promise<number> {
  const overdue = await takeOverdue(db, now - CHECK_EVERY_MS, now, ROWS);
  const rows = await Promise.all(
    overdue.map(async (row) => {
      const stub = predictionWithId(env, row.object_id);
      return (stub && (await projectionAt(stub))) ?? neverBegun(row, now);
    }),
  );
  await projectPredictions(db, rows);
  return rows.length;
}

/** The row is there and its object is not: create was answered with an error, and nothing ran. */
const neverBegun = ({ checked_at: _, ...row }: PredictionRow, now: number): ProjectionMessage => ({
  ...row,
  status: "failed",
  updated_at: now,
  error: { source: "internal", message: "The prediction could not be created.", detail: null },
  revision: row.revision + 1,
});
