/** Direct access to rows, Durable Objects and their storage. */
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, onTestFinished, vi } from "vitest";
import type { PredictionSpec } from "../../../src/domain/predictions/state.ts";
import { AccountObject } from "../../../src/objects/account/object.ts";
import { Alarm } from "../../../src/objects/prediction/alarm.ts";
import type { PredictionObject } from "../../../src/objects/prediction/object.ts";
import { eventually } from "./eventually.ts";

export interface Row {
  id: string;
  object_id: string;
  status: string;
  revision: number;
  data_removed: number;
  due_at: number | null;
  error: string | null;
  metrics: string | null;
  setup_time: number | null;
  cost: number | null;
}

export type Account = DurableObjectStub<AccountObject>;

/** Returns the object of an account, or undefined before its first prediction or change. */
export async function accountOf(userId: string): Promise<Account | undefined> {
  const statement = env.DB.prepare("SELECT account_object FROM users WHERE id = ?").bind(userId);
  const id = await statement.first<string>("account_object");
  return id === null ? undefined : accountObject(id);
}

/** Returns the account object with the id that a user's row names. */
export const accountObject = (id: string): Account => env.ACCOUNT.get(env.ACCOUNT.idFromString(id));

/** Returns the rows of a statement in the object of an account. */
export async function inAccount<Found = Row>(
  userId: string,
  statement: string,
  ...values: (string | number | null)[]
): Promise<Found[]> {
  const account = await accountOf(userId);
  return account ? inObject(account, statement, ...values) : [];
}

/** Returns the rows of a statement in an account's object. */
export const inObject = <Found = Row>(
  account: Account,
  statement: string,
  ...values: (string | number | null)[]
): Promise<Found[]> =>
  runInDurableObject(
    account,
    (_, { storage }) => storage.sql.exec(statement, ...values).toArray() as Found[],
  );

/**
 * Returns the row of a prediction. The newest accounts come first, because one of them is likely to have it.
 */
export async function rowOf(predictionId: string): Promise<Row | null> {
  const { results } = await env.DB.prepare(
    "SELECT account_object AS id FROM users WHERE account_object IS NOT NULL ORDER BY seq DESC",
  ).all<{ id: string }>();
  for (const { id } of results) {
    const statement = "SELECT * FROM predictions WHERE id = ?";
    const [row] = await inObject(accountObject(id), statement, predictionId);
    if (row) return row;
  }
  return null;
}

/**
 * Sets no alarms of predictions until the test ends: workerd's clock starts an alarm, and the alarm then
 * expires what is overdue by the clock that the test has moved.
 */
export function withoutAlarms(): void {
  const spy = vi.spyOn(Alarm.prototype, "arm").mockReturnValue();
  onTestFinished(() => spy.mockRestore());
}

/** Waits for the row that a prediction gets after 250 ms. Its alarm is set by then. */
export const hasRow = (predictionId: string) =>
  eventually(async () => expect(await rowOf(predictionId)).not.toBeNull());

export async function countRows(userId: string): Promise<number> {
  const [row] = await inAccount<{ n: number }>(userId, "SELECT count(*) AS n FROM predictions");
  return row?.n ?? 0;
}

/** Runs the alarm of an account. */
export async function keepUp(userId: string): Promise<void> {
  const account = await accountOf(userId);
  if (account) await runDurableObjectAlarm(account);
}

let skipped = 0;

/** Runs the alarm of an account a minute after the last time, so that it publishes its counts again. */
async function laterAlarm(account: Account): Promise<void> {
  const wasFake = vi.isFakeTimers();
  const now = Date.now();
  if (!wasFake) vi.useFakeTimers({ toFake: ["Date"] });
  skipped += 61_000;
  vi.setSystemTime(now + skipped);
  await runInDurableObject(account, (object: AccountObject) => object.alarm());
  vi.setSystemTime(now);
  if (!wasFake) vi.useRealTimers();
}

interface Count {
  model_id: string;
  predictions: number;
}

/** Lets all accounts publish how often they ran models, and waits until D1 has the counts. */
export async function tellCounts(): Promise<void> {
  const { results } = await env.DB.prepare(
    "SELECT id, deleted_at FROM users WHERE account_object IS NOT NULL",
  ).all<{ id: string; deleted_at: number | null }>();
  for (const { id, deleted_at } of results) {
    if (deleted_at !== null) continue;
    const account = await accountOf(id);
    if (account) await laterAlarm(account);
    const told = await inAccount<Count>(
      id,
      "SELECT model_id, published AS predictions FROM counts ORDER BY model_id",
    );
    await eventually(async () => {
      const known = await env.DB.prepare(
        "SELECT model_id, predictions FROM account_counts WHERE user_id = ? ORDER BY model_id",
      )
        .bind(id)
        .all<Count>();
      if (JSON.stringify(known.results) !== JSON.stringify(told)) throw new Error("not told yet");
    }, 6_000);
  }
}

/** Refuses all rows and claims of keys, until `vi.restoreAllMocks`. */
export function refuseRows() {
  const down = new Error("the account is down");
  const refusing = [
    vi.spyOn(AccountObject.prototype, "put").mockRejectedValue(down),
    vi.spyOn(AccountObject.prototype, "admit").mockRejectedValue(down),
  ];
  return {
    mockRestore() {
      for (const one of refusing) one.mockRestore();
    },
  };
}

export async function objectOf(predictionId: string): Promise<DurableObjectStub<PredictionObject>> {
  // The row of a run that its caller waits for is held back for 250 ms.
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

/**
 * Returns the names of an object's tables and values, all rows of the log as one; empty when nothing is
 * stored.
 */
export const tablesOf = (stub: DurableObjectStub<PredictionObject>) =>
  runInDurableObject(stub, (_, { storage }) => [
    ...tablesIn(storage),
    ...new Set(Array.from(storage.kv.list(), ([key]) => key.replace(/:\d+$/, ""))),
  ]);

/** Returns everything that an object stores, as text. */
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

/** Returns the rows of a prediction's log that are stored separately. */
export const logRowsOf = (stub: DurableObjectStub<PredictionObject>) =>
  runInDurableObject(stub, (_, { storage }) =>
    Array.from(storage.kv.list<string>({ prefix: "log:" }), ([, body]) => body),
  );

/** Returns the spec that an object has stored. */
export const specOf = (stub: DurableObjectStub<PredictionObject>) =>
  runInDurableObject(stub, (_, { storage }) => {
    const request = storage.kv.get<{ spec: PredictionSpec }>("request");
    if (!request) throw new Error("nothing is stored");
    return request.spec;
  });

/** Changes the stored spec of a prediction. */
export const changeSpec = (
  stub: DurableObjectStub<PredictionObject>,
  change: (spec: PredictionSpec) => PredictionSpec,
) =>
  runInDurableObject(stub, (_, { storage }) => {
    const request = storage.kv.get<{ spec: PredictionSpec }>("request");
    if (!request) throw new Error("nothing is stored");
    storage.kv.put("request", { ...request, spec: change(request.spec) });
  });
