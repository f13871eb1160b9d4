/**
 * Repairs overdue rows: each row that is not terminal is checked against its object every 5 minutes,
 * in case the message with its end was lost.
 */
import type { ProjectionMessage } from "../../protocol/queue.ts";
import { runBatch } from "../../storage/database.ts";
import { deleteAll } from "../../storage/files/files.ts";
import { syncListings } from "../../storage/models/models.ts";
import {
  type PredictionRow,
  projectPredictions,
  takeOverdue,
} from "../../storage/predictions/predictions.ts";
import type { Services } from "../services.ts";
import { checkRows } from "./reconcile.ts";

const CHECK_INTERVAL_MS = 5 * 60_000;
const MAX_ROWS = 100;

/** @returns how many rows were checked */
export async function sweepPredictions(services: Services, now: number): Promise<number> {
  const { db } = services;
  const overdue = await takeOverdue(db, now - CHECK_INTERVAL_MS, now, MAX_ROWS);
  const checked = await checkRows(services, overdue);
  const rows = await Promise.all(
    checked.map(({ row, current }) => current ?? neverCreated(services, row, now)),
  );
  await projectPredictions(db, rows);
  await runBatch(db, syncListings(db));
  return rows.length;
}

/** A row without an object: creating it failed, its caller got an error, and nothing ran. */
async function neverCreated(
  { env }: Services,
  { checked_at: _, ...row }: PredictionRow,
  now: number,
): Promise<ProjectionMessage> {
  // Its input may have been stored.
  await deleteAll(env.FILES, row.id);
  return {
    ...row,
    status: "failed",
    updated_at: now,
    error: { source: "internal", message: "The prediction could not be created.", detail: null },
    image_bytes: null,
    revision: row.revision + 1,
  };
}
