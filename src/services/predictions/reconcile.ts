/** The rows of predictions: copies of what their objects know. */
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

/**
 * The row as its object knows it; undefined when the object has no prediction (yet), or another one:
 * of two requests with the same Idempotency-Key only the first creates it.
 */
export async function currentRow(
  { env }: Services,
  row: PredictionRow,
): Promise<ProjectionMessage | undefined> {
  const stub = predictionWithId(env, row.object_id);
  const current = stub && (await predictionRowAt(stub));
  return current?.id === row.id ? current : undefined;
}

/** Brings the rows of predictions that seem under way up to date: rows lag about a second. */
export async function reconcileUnderWay(
  services: Services,
  modelId: string,
  version?: number,
): Promise<void> {
  const rows = await findUnfinished(services.db, modelId, version);
  const current = await Promise.all(rows.map((row) => currentRow(services, row)));
  await writeRows(
    services,
    current.filter((row) => row !== undefined),
  );
}
