/** Our Worker, whose account objects can be filled: `POST /fill?first=1&count=10000` writes predictions. */
import type { Bindings } from "../../../src/env.ts";
import worker, { AccountObject as Account } from "../../../src/worker.ts";

export { PoolObject, PredictionObject, RunnerObject } from "../../../src/worker.ts";

/** IDs sort by their creation, as UUIDv7 do, and before all that are made later. */
const FILL = `INSERT INTO predictions (id, object_id, model_id, model_owner, model_name, version_number, stream,
    status, created_at, updated_at, data_removed, revision)
  WITH RECURSIVE numbers(n) AS (SELECT ?1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?1 + ?2 - 1)
  SELECT printf('00000000-%04x-7%03x-8000-%012x', n / 4096, n % 4096, n), printf('%064x', n),
    printf('%08x-0000-7100-8000-%012x', n % 10000 + 1, n % 10000 + 1), 'bench', 'model', 1, 0,
    CASE n % 10 WHEN 0 THEN 'failed' WHEN 1 THEN 'canceled' ELSE 'succeeded' END,
    n, unixepoch() * 1000, 0, 9 FROM numbers`;

export class AccountObject extends Account {
  override fetch(request: Request): Response {
    const { searchParams } = new URL(request.url);
    const [first, count] = ["first", "count"].map((name) => Number(searchParams.get(name)));
    this.ctx.storage.sql.exec(FILL, first ?? 0, count ?? 0);
    return new Response();
  }
}

export default {
  async fetch(request, env, ctx) {
    const { pathname } = new URL(request.url);
    if (pathname !== "/fill") return worker.fetch(request, env, ctx);
    const found = env.DB.prepare(
      "SELECT account_object FROM users WHERE account_object IS NOT NULL",
    );
    const id = await found.first<string>("account_object");
    return env.ACCOUNT.get(env.ACCOUNT.idFromString(id ?? "")).fetch(request);
  },
  queue: worker.queue,
  scheduled: worker.scheduled,
} satisfies ExportedHandler<Bindings>;
