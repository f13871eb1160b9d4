/** Direct access to rows, Durable Objects and their storage. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { PredictionObject } from "../../../src/objects/prediction/object.ts";
import { eventually } from "./eventually.ts";

export interface Row {
  object_id: string;
  status: string;
  revision: number;
  data_removed: number;
  error: string | null;
  metrics: string | null;
  setup_time: number | null;
}

export const rowOf = (predictionId: string) =>
  env.DB.prepare("SELECT * FROM predictions WHERE id = ?").bind(predictionId).first<Row>();

export async function countRows(userId: string): Promise<number> {
  const statement = env.DB.prepare("SELECT count(*) AS n FROM predictions WHERE user_id = ?");
  return (await statement.bind(userId).first<number>("n")) ?? 0;
}

export async function objectOf(predictionId: string): Promise<DurableObjectStub<PredictionObject>> {
  // The row of a run that is waited for is held back for 250 ms.
  const row = await eventually(async () => {
    const found = await rowOf(predictionId);
    if (!found) throw new Error(`no row of ${predictionId}`);
    return found;
  });
  return env.PREDICTION.get(env.PREDICTION.idFromString(row.object_id));
}

/** The names of an object's tables and of its values; none when it keeps nothing. */
export const tablesOf = (stub: DurableObjectStub<PredictionObject>) =>
  runInDurableObject(stub, (_, { storage }) => [
    ...storage.sql
      .exec<{ name: string }>(
        "SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf\\_%' ESCAPE '\\'",
      )
      .toArray()
      .map(({ name }) => name),
    ...Array.from(storage.kv.list(), ([key]) => key),
  ]);
