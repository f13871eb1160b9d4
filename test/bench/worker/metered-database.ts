/** D1, which counts the rows of each answer that it will bill. */
import { counts } from "./counts.ts";
import { override } from "./override.ts";

/** The native statement of each wrapped one: a batch takes native statements only. */
const natives = new WeakMap<object, unknown>();

export const meteredDatabase = (database: D1Database): D1Database =>
  override(database, {
    prepare: (prepare) => (sql) => statement(prepare(sql)),
    batch: (batch) => async (statements) => {
      const own = Array.isArray(statements) ? statements.map((one) => natives.get(one)) : [];
      return count(await batch(own));
    },
  });

function statement(target: unknown): unknown {
  if (typeof target !== "object" || target === null) return target;
  const counted =
    (call: (...args: unknown[]) => unknown) =>
    async (...args: unknown[]) =>
      count(await call(...args));
  const proxy = override(target, {
    bind:
      (bind) =>
      (...values) =>
        statement(bind(...values)),
    run: counted,
    all: counted,
    // `raw` returns rows without a count: at least the returned rows were read.
    raw:
      (raw) =>
      async (...args) => {
        const rows = await raw(...args);
        counts.d1_rows_read += Array.isArray(rows) ? rows.length : 0;
        return rows;
      },
  });
  natives.set(proxy, target);
  return proxy;
}

function count<Results>(results: Results): Results {
  for (const result of [results].flat() as D1Result[]) {
    counts.d1_rows_read += result.meta.rows_read;
    counts.d1_rows_written += result.meta.rows_written;
  }
  return results;
}
