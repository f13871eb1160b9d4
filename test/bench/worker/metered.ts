/** The bindings of the Worker and the storage of its objects, with each call counted. */
import type { Bindings } from "../../../src/env.ts";
import { counts, opened, openedBy, progress } from "./counts.ts";
import { override } from "./override.ts";

const made = new WeakMap<Bindings, Bindings>();

/** Returns the same bindings for the same environment, because our code caches by them. */
export function metered(env: Bindings): Bindings {
  let found = made.get(env);
  if (!found) {
    found = {
      ...env,
      DB: meteredDatabase(env.DB),
      DISPATCH: queue(env.DISPATCH),
      COUNTS: queue(env.COUNTS),
      TRACES: queue(env.TRACES),
      PREDICTION: namespace(env.PREDICTION, opened),
      ACCOUNT: namespace(env.ACCOUNT, opened),
      // The pool is shared by all predictions and never idle, so it adds no prediction's time.
      POOL: namespace(env.POOL, () => () => {}),
    };
    made.set(env, found);
  }
  return found;
}

const queue = <Body>(target: Queue<Body>): Queue<Body> =>
  override(target, {
    send: (send) => (message) => {
      counts.queue_operations += 1;
      progress.queued += 1;
      return send(message);
    },
    sendBatch: (sendBatch) => (messages) => {
      const count = Array.from(messages as Iterable<unknown>).length;
      counts.queue_operations += count;
      progress.queued += count;
      return sendBatch(messages);
    },
  });

type Opened = typeof opened;

function namespace<Target extends object>(target: Target, begin: Opened): Target {
  const get = (call: (...args: unknown[]) => unknown) => (id: unknown) => stub(call(id), begin);
  return override(target, { get, getByName: get });
}

/** Counts every call of a stub's methods as a request of its object. */
function stub(target: unknown, begin: Opened): unknown {
  if (typeof target !== "object" || target === null || !("id" in target)) return target;
  return override(target, (call) => async (...args) => {
    counts.object_requests += 1;
    const answer = await call(...args);
    if (!(answer instanceof Response) || answer.status !== 200 || !answer.body) return answer;
    return whileRead(answer, answer.body, begin(String(target.id)));
  });
}

/** Keeps a stream open until its last byte, or until its reader leaves. */
function whileRead(response: Response, body: ReadableStream, end: () => void): Response {
  const pipe = new TransformStream({ flush: end, cancel: end });
  return new Response(body.pipeThrough(pipe), response);
}

/** Counts the operations of an object. Its native storage is patched, because a proxy would not work. */
export function meter(ctx: DurableObjectState, onEmptied = () => {}): void {
  const { storage } = ctx;
  const { sql, kv } = storage;
  const [waitUntil, exec, get, list, put, setAlarm, deleteAll] = [
    ctx.waitUntil.bind(ctx),
    sql.exec.bind(sql),
    kv.get.bind(kv),
    kv.list.bind(kv),
    kv.put.bind(kv),
    storage.setAlarm.bind(storage),
    storage.deleteAll.bind(storage),
  ];
  ctx.waitUntil = (promise) => {
    openedBy(promise);
    waitUntil(promise);
  };
  let last: SqlStorageCursor<never> | undefined;
  // A cursor reads on after `exec` returns, so the next call counts its rows.
  const countRead = () => {
    counts.object_rows_read += last?.rowsRead ?? 0;
    last = undefined;
  };
  sql.exec = (query, ...bindings) => {
    countRead();
    last = exec<never>(query, ...bindings);
    counts.object_rows_written += last.rowsWritten;
    return last;
  };
  kv.get = <T>(key: string) => {
    counts.object_rows_read += 1;
    return get<T>(key);
  };
  kv.list = function* <T>(...args: Parameters<typeof list>) {
    for (const row of list<T>(...args)) {
      counts.object_rows_read += 1;
      yield row;
    }
  };
  kv.put = (...args) => {
    counts.object_rows_written += 1;
    put(...args);
  };
  // The getter of `kv` makes a new object each time.
  Object.defineProperty(storage, "kv", { value: kv });
  storage.setAlarm = (...args) => {
    counts.object_rows_written += 1;
    return setAlarm(...args);
  };
  // `deleteAll` drops the database whole. Its price is not documented, so it counts as one row, like an
  // alarm.
  storage.deleteAll = (...args) => {
    countRead();
    counts.object_rows_written += 1;
    onEmptied();
    return deleteAll(...args);
  };
}

/** D1, which counts the rows of each answer that it will bill. */

/** The native statement of each wrapped one: a batch takes native statements only. */
const natives = new WeakMap<object, unknown>();

const meteredDatabase = (database: D1Database): D1Database =>
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
