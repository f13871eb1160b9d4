/** The rows of predictions that have not ended, held against the objects, which know better. */
import { predictionWithId, projectionAt } from "../../objects/prediction/stub.ts";
import type { ProjectionMessage } from "../../protocol/queue.ts";
import {
  findUnderWay,
  type PredictionRow,
  projectPredictions,
} from "../../storage/predictions/predictions.ts";
import type { Services } from "../services.ts";

/**
 * A row as it should be; undefined when its object was never begun, or not yet, or for another:
 * of two requests with one Idempotency-Key only the first begins it.
 */
export async function reconciledRow(
  { env }: Services,
  row: PredictionRow,
): Promise<ProjectionMessage | undefined> {
  const stub = predictionWithId(env, row.object_id);
  const found = stub && (await projectionAt(stub));
  return found?.id === row.id ? found : undefined;
}

/** Rows lag a second behind: what has just ended is not under way any more. */
export async function reconcileUnderWay(
  services: Services,
  modelId: string,
  version?: number,
): Promise<void> {
  const rows = await findUnderWay(services.db, modelId, version);
  const now = await Promise.all(rows.map((row) => reconciledRow(services, row)));
  await projectPredictions(
    services.db,
    now.filter((row) => row !== undefined),
  );
}
