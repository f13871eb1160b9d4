/** Direct access to rows, Durable Objects and their storage. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { PredictionSpec } from "../../../src/domain/predictions/state.ts";
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

const tablesIn = ({ sql }: DurableObjectStorage): string[] =>
  sql
    .exec<{ name: string }>(
      "SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf\\_%' ESCAPE '\\'",
    )
    .toArray()
    .map(({ name }) => name);

/** The names of an object's tables and of its values, the rows of a log as one; none when it keeps nothing. */
export const tablesOf = (stub: DurableObjectStub<PredictionObject>) =>
  runInDurableObject(stub, (_, { storage }) => [
    ...tablesIn(storage),
    ...new Set(Array.from(storage.kv.list(), ([key]) => key.replace(/:\d+$/, ""))),
  ]);

/** All that an object keeps, as text. */
export const textIn = (stub: DurableObjectStub<PredictionObject>) =>
  runInDurableObject(stub, (_, { storage }) => {
    const tables = tablesIn(storage).map((name) =>
      storage.sql.exec(`SELECT * FROM "${name}"`).toArray(),
    );
    return JSON.stringify([...tables, ...storage.kv.list()], (_key, value) =>
      value instanceof Uint8Array
        ? new TextDecoder().decode(value)
        : value instanceof Map
          ? [...value]
          : value,
    );
  });

/** The rows of a prediction's log that are stored each by itself. */
export const logRowsOf = (stub: DurableObjectStub<PredictionObject>) =>
  runInDurableObject(stub, (_, { storage }) =>
    Array.from(storage.kv.list<string>({ prefix: "log:" }), ([, body]) => body),
  );

/** The spec that an object has stored. */
export const specOf = (stub: DurableObjectStub<PredictionObject>) =>
  runInDurableObject(stub, (_, { storage }) => {
    const request = storage.kv.get<{ spec: PredictionSpec }>("request");
    if (!request) throw new Error("nothing is stored");
    return request.spec;
  });

/** As if a prediction had been created otherwise. */
export const changeSpec = (
  stub: DurableObjectStub<PredictionObject>,
  change: (spec: PredictionSpec) => PredictionSpec,
) =>
  runInDurableObject(stub, (_, { storage }) => {
    const request = storage.kv.get<{ spec: PredictionSpec }>("request");
    if (!request) throw new Error("nothing is stored");
    storage.kv.put("request", { ...request, spec: change(request.spec) });
  });
