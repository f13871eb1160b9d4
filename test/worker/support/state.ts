/** Everything that the service stores, to check that nothing has changed. */
import { env } from "cloudflare:workers";
import type { RunnerState } from "../../../src/protocol/fleet.ts";
import type { Page } from "../../../src/services/pagination.ts";
import { EXPIRED } from "./dashboard-users.ts";
import { inAccount, type Row } from "./objects.ts";
import { operator } from "./world.ts";

/**
 * Tables that are not compared: search indexes follow the others and cannot be read whole, and counts and usage
 * follow through a queue.
 */
const NOT_READ =
  /^(?:sqlite|_cf|d1)_|words|reading_|^verifications$|^(?:(?:account|model)_counts|account_usage)$/;

/** Columns that change by themselves. */
const PASSING = ["last_used_at"];

export async function everything(): Promise<Record<string, unknown>> {
  const { results } = await env.DB.prepare(
    "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name",
  ).all<{ name: string }>();
  const names = results.map(({ name }) => name).filter((name) => !NOT_READ.test(name));
  const [tables, files, runners] = await Promise.all([
    env.DB.batch<Record<string, unknown>>(
      names.map((name) => env.DB.prepare(`SELECT * FROM ${name}`)),
    ),
    env.FILES.list(),
    operator.ok<Page<RunnerState>>("GET", "/v1/operator/runners?page_size=50"),
  ]);
  const rows = tables.map(({ results }, n) => [names[n], results.filter(isGood).map(lasting)]);
  return {
    ...Object.fromEntries(rows),
    predictions: await allPredictions(),
    files: files.objects.map(({ key, etag }) => [key, etag]),
    // A runner is offline once it has been silent for some seconds, however slow the machine is.
    runners: runners.items.map(({ state, ...runner }) => runner),
  };
}

/** Returns the predictions in the indexes of all accounts. */
export async function allPredictions(): Promise<Row[]> {
  const statement = env.DB.prepare("SELECT id FROM users WHERE account_object IS NOT NULL");
  const { results } = await statement.all<{ id: string }>();
  const all = results.map(({ id }) => inAccount(id, "SELECT * FROM predictions"));
  return (await Promise.all(all)).flat();
}

/** Entries of reads: tests use OPERATOR_TOKEN themselves, and a stranger exports their own account. */
const READS = /^(?:operator_token\.used|(?:audit|user)\.exported)$/;

/** Whether a row is compared. An expired session is deleted when it is used. */
const isGood = (row: Record<string, unknown>) =>
  row.expires_at !== EXPIRED && !READS.test(String(row.action));

const lasting = (row: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(row).filter(([column]) => !PASSING.includes(column)));
