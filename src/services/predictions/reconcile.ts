/** The rows of predictions: copies of what their objects know. */
import { logger } from "../../log.ts";
import { predictionRowAt, predictionWithId } from "../../objects/prediction/stub.ts";
import type { ProjectionMessage } from "../../protocol/queue.ts";
import {
  findUnfinished,
  type PredictionRow,
  projectPredictions,
} from "../../storage/predictions/predictions.ts";
import type { Services } from "../services.ts";

/** Writes rows as their objects have sent them. */
export const writeRows = ({ db }: Services, rows: ProjectionMessage[]): Promise<void> =>
  projectPredictions(db, rows);

export interface CheckedRow {
  row: PredictionRow;
  /**
   * As its object knows it; undefined when the object has no prediction (yet), or another one: of two
   * requests with the same Idempotency-Key only the first creates it.
   */
  current: ProjectionMessage | undefined;
}

/** Asks the objects of rows. Those that do not answer are left out: nothing is known of them. */
export async function checkRows({ env }: Services, rows: PredictionRow[]): Promise<CheckedRow[]> {
  const checks = rows.map(async (row) => {
    const stub = predictionWithId(env, row.object_id);
    const current = stub && (await predictionRowAt(stub));
    return { row, current: current?.id === row.id ? current : undefined };
  });
  const results = await Promise.allSettled(checks);
  return results.flatMap((result, n) => {
    if (result.status === "fulfilled") return [result.value];
    const prediction_id = rows[n]?.id;
    logger.warn("Prediction not checked", { prediction_id, error: result.reason });
    return [];
  });
}

/** Brings the rows of predictions that seem under way up to date: rows lag about a second. */
export async function reconcileUnderWay(
  services: Services,
  modelId: string,
  version?: number,
): Promise<void> {
  const rows = await findUnfinished(services.db, modelId, version);
  const checked = await checkRows(services, rows);
  await writeRows(
    services,
    checked.flatMap(({ current }) => current ?? []),
  );
}
