/**
 * D1 for better-auth, which makes its writes itself: those that are to be recorded are, each in one transaction
 * with its entry of the audit log.
 */
import { getTableName, type Table } from "drizzle-orm";
import type { EntryRow } from "../../domain/audit/entry.ts";
import { type CurrentRequest, currentRequest } from "../../lib/current-request.ts";
import { database } from "../database.ts";
import { insertIfChanged } from "./entries.ts";

type Write = "insert into" | "update" | "delete from";

/** The entries of the next writes of each request, by the beginning of their statement. */
const expected = new WeakMap<CurrentRequest, Map<string, EntryRow>>();

/**
 * Records the next write of the current request to a table, if it changes a row. If there is none, nothing is
 * recorded.
 */
export function recordNextWrite(write: Write, table: Table, entry: EntryRow): void {
  const request = currentRequest();
  if (!request) throw new Error("A write is recorded for a request only");
  const entries = expected.get(request) ?? new Map<string, EntryRow>();
  expected.set(request, entries.set(`${write} "${getTableName(table)}"`, entry));
}

function takeEntry(query: string): EntryRow | undefined {
  const request = currentRequest();
  const entries = request && expected.get(request);
  const [beginning = ""] = /^(?:insert into|update|delete from) "\w+"/.exec(query) ?? [];
  const entry = entries?.get(beginning);
  entries?.delete(beginning);
  return entry;
}

export function recordedDatabase(d1: D1Database): D1Database {
  const db = database(d1);
  const recorded = (query: string, original: D1PreparedStatement): D1PreparedStatement => {
    const write = async <Row>(entry: EntryRow): Promise<D1Result<Row>> => {
      const { sql, params } = insertIfChanged(db, entry).toSQL();
      const [result] = await d1.batch<Row>([original, d1.prepare(sql).bind(...params)]);
      if (!result) throw new Error("D1 returned no result");
      return result;
    };
    const replaced = {
      bind: (...values: unknown[]) => recorded(query, original.bind(...values)),
      run: () => {
        const entry = takeEntry(query);
        return entry ? write(entry) : original.run();
      },
      all: () => {
        const entry = takeEntry(query);
        return entry ? write(entry) : original.all();
      },
      // The columns that a write returns have different names, so that no value is lost.
      raw: async () => {
        const entry = takeEntry(query);
        return entry
          ? (await write<Record<string, unknown>>(entry)).results.map(Object.values)
          : original.raw();
      },
    };
    return new Proxy(original, {
      get(_, name) {
        if (name in replaced) return Reflect.get(replaced, name);
        const member: unknown = Reflect.get(original, name);
        return typeof member === "function" ? member.bind(original) : member;
      },
    });
  };
  return {
    prepare: (query) => recorded(query, d1.prepare(query)),
    batch: (statements) => d1.batch(statements),
    exec: (query) => d1.exec(query),
    withSession: (constraint) => d1.withSession(constraint),
    dump: () => d1.dump(),
  };
}
