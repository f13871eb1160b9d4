/** Everything that the service stores, to check that nothing has changed. */
import { env } from "cloudflare:workers";
import { afterAll, vi } from "vitest";
import { PredictionRows } from "../../../src/objects/account/prediction-rows.ts";
import { EXPIRED } from "./dashboard-users.ts";
import { accountObject, inObject, type Row } from "./objects.ts";

/**
 * Tables that are not watched: search indexes follow the others, and counts and usage follow through a queue.
 */
const NOT_WATCHED =
  /^(?:sqlite|_cf|d1)_|words|reading_|^verifications$|^(?:(?:account|model)_counts|account_usage)$/;

/** Columns that change by themselves. */
const PASSING = ["last_used_at"];

/** Entries of reads: tests use OPERATOR_TOKEN themselves, and a stranger exports their own account. */
const READS = ["operator_token.used", "audit.exported", "user.exported"];

/**
 * Makes triggers that note each change of a row. To compare all rows before and after each of hundreds of routes
 * would take a third of a test file's time, and longer for each row that earlier routes have left.
 */
export async function watchTables(): Promise<void> {
  const { results } = await env.DB.prepare(
    "SELECT name FROM sqlite_master WHERE type = 'table'",
  ).all<{ name: string }>();
  const names = results.map(({ name }) => name).filter((name) => !NOT_WATCHED.test(name));
  const columns = await env.DB.batch<{ name: string }>(
    names.map((name) => env.DB.prepare("SELECT name FROM pragma_table_info(?)").bind(name)),
  );
  const triggers = names.flatMap((table, n) =>
    triggersOf(table, columns[n]?.results.map(({ name }) => name) ?? []),
  );
  writes = WRITES.map((name) => vi.spyOn(PredictionRows.prototype, name));
  await env.DB.batch(
    ["CREATE TABLE changes (id INTEGER PRIMARY KEY, what TEXT)", ...triggers].map((statement) =>
      env.DB.prepare(statement),
    ),
  );
}

function triggersOf(table: string, columns: string[]): string[] {
  const lasting = columns.filter((column) => !PASSING.includes(column));
  const isDifferent = lasting
    .map((column) => `OLD."${column}" IS NOT NEW."${column}"`)
    .join(" OR ");
  const isWatched = (row: "OLD" | "NEW") =>
    [
      // An expired session is deleted when it is used.
      ...(columns.includes("expires_at") ? [`${row}.expires_at IS NOT ${EXPIRED}`] : []),
      ...(columns.includes("action") ? READS.map((read) => `${row}.action IS NOT '${read}'`) : []),
      "TRUE",
    ].join(" AND ");
  const trigger = (kind: string, condition: string) =>
    `CREATE TRIGGER changes_${table}_${kind} AFTER ${kind} ON ${table} WHEN ${condition}
      BEGIN INSERT INTO changes (what) VALUES ('${kind} of ${table}'); END`;
  return [
    trigger("INSERT", isWatched("NEW")),
    trigger("UPDATE", `(${isDifferent}) AND ${isWatched("NEW")}`),
    trigger("DELETE", isWatched("OLD")),
  ];
}

/**
 * Returns what differs after each change: the newest change of a table that `watchTables` watches, the predictions
 * and the files. The states of runners are read by the routes of runners (`readState`).
 */
export async function everything(): Promise<Record<string, unknown>> {
  const [change, files, predictions] = await Promise.all([
    env.DB.prepare("SELECT * FROM changes ORDER BY id DESC LIMIT 1").first(),
    env.FILES.list(),
    knownPredictions(),
  ]);
  return { change, predictions, files: files.objects.map(({ key, etag }) => [key, etag]) };
}

/** The methods that write rows of predictions, in whichever account. */
const WRITES = ["put", "markRemoved", "fail", "deleteTo", "postpone", "discard"] as const;

let writes: { mock: { calls: unknown[] }; mockRestore: () => void }[] = [];
let known: { writes: number; rows: Row[] } | undefined;

afterAll(() => {
  for (const one of writes) one.mockRestore();
  known = undefined;
});

/** Returns the predictions of all accounts, which are read again only after a write: each account is one call. */
async function knownPredictions(): Promise<Row[]> {
  const count = writes.reduce((sum, { mock }) => sum + mock.calls.length, 0);
  if (known?.writes !== count) known = { writes: count, rows: await allPredictions() };
  return known.rows;
}

/** Returns the predictions in the indexes of all accounts. */
export async function allPredictions(): Promise<Row[]> {
  const statement = env.DB.prepare(
    "SELECT account_object AS id FROM users WHERE account_object IS NOT NULL",
  );
  const { results } = await statement.all<{ id: string }>();
  const all = results.map(({ id }) => inObject(accountObject(id), "SELECT * FROM predictions"));
  return (await Promise.all(all)).flat();
}
