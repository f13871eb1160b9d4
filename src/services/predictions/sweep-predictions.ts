/**
 * The repair of rows that are overdue: each row that is not terminal is held against its object
 * now and then, so that a projection that was lost for good is made up for.
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
import { reconciledRow } from "./reconcile.ts";

const CHECK_EVERY_MS = 5 * 60_000;
const ROWS = 100;

/** @returns how many rows were held against their objects. */
export async function sweepPredictions(services: Services, now: number): Promise<number> {
  const { db } = services;
  const overdue = await takeOverdue(db, now - CHECK_EVERY_MS, now, ROWS);
  const rows = await Promise.all(
    overdue.map(
      async (row) => (await reconciledRow(services, row)) ?? neverBegun(services, row, now),
    ),
  );
  await projectPredictions(db, rows);
  await runBatch(db, syncListings(db));
  return rows.length;
}

/** The row is there and its object is not: create was answered with an error, and nothing ran. */
async function neverBegun(
  { env }: Services,
  { checked_at: _, ...row }: PredictionRow,
  now: number,
): Promise<ProjectionMessage> {
  // Its input may be there already.
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
