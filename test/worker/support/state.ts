/** Everything that the service stores, to check that nothing has changed. */
import { env } from "cloudflare:workers";
import { EXPIRED } from "./dashboard-users.ts";
import { operator } from "./world.ts";

/** Those of searches follow the others, and cannot be read whole. */
const NOT_READ = /^(?:sqlite|_cf|d1)_|words|reading_|^verifications$/;

/** What changes without anybody wanting anything: when something was used, or looked at. */
const PASSING = ["last_used_at", "checked_at"];

export async function everything(): Promise<Record<string, unknown>> {
  const { results } = await env.DB.prepare(
    "SELECT name FROM sqlite_master WHERE type = 'table'",
  ).all<{ name: string }>();
  const names = results.map(({ name }) => name).filter((name) => !NOT_READ.test(name));
  const [tables, files, runners] = await Promise.all([
    env.DB.batch<Record<string, unknown>>(
      names.map((name) => env.DB.prepare(`SELECT * FROM ${name}`)),
    ),
    env.FILES.list(),
    operator.ok("GET", "/v1/operator/runners?page_size=50"),
  ]);
  const rows = tables.map(({ results }, n) => [names[n], results.filter(isGood).map(lasting)]);
  return {
    ...Object.fromEntries(rows),
    files: files.objects.map(({ key, etag }) => [key, etag]),
    runners,
  };
}

/** A session that has expired goes with the first look at it. */
const isGood = (row: Record<string, unknown>) => row.expires_at !== EXPIRED;

const lasting = (row: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(row).filter(([column]) => !PASSING.includes(column)));
