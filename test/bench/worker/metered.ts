/** The bindings of the Worker and the storage of its objects, each call of them counted. */
import type { Bindings } from "../../../src/env.ts";
import { counts, opened } from "./counts.ts";
import { meteredDatabase } from "./metered-database.ts";
import { override } from "./override.ts";

const made = new WeakMap<Bindings, Bindings>();

/** The same for the same environment: our code keeps what it makes of it. */
export function metered(env: Bindings): Bindings {
  let found = made.get(env);
  if (!found) {
    found = {
      ...env,
      DB: meteredDatabase(env.DB),
      DISPATCH: queue(env.DISPATCH),
      PROJECTION: queue(env.PROJECTION),
      PREDICTION: namespace(env.PREDICTION, opened),
      // Shared by all predictions and never idle: no prediction's time.
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
      return send(message);
    },
  });

type Opened = typeof opened;

function namespace<Target extends object>(target: Target, begin: Opened): Target {
  const get = (call: (...args: unknown[]) => unknown) => (id: unknown) => stub(call(id), begin);
  return override(target, { get, getByName: get });
}

/** Every method of a stub is a call of its object, and so a request. */
function stub(target: unknown, begin: Opened): unknown {
  if (typeof target !== "object" || target === null || !("id" in target)) return target;
  return override(target, (call) => async (...args) => {
    counts.object_requests += 1;
    const end = begin(String(target.id));
    const answer = await Promise.resolve(call(...args)).catch((error: unknown) => {
      end();
      throw error;
    });
    if (answer instanceof Response && answer.status === 200 && answer.body) {
      return whileRead(answer, answer.body, end);
    }
    end();
    return answer;
  });
}

/** A stream is open until its last byte, or until its reader leaves. */
function whileRead(response: Response, body: ReadableStream, end: () => void): Response {
  const pipe = new TransformStream({ flush: end, cancel: end });
  return new Response(body.pipeThrough(pipe), response);
}

/** Counts what an object writes. Its storage is native and stays itself: a proxy would not do. */
export function meter({ storage }: DurableObjectState): void {
  const { sql } = storage;
  const [exec, setAlarm, deleteAll] = [
    sql.exec.bind(sql),
    storage.setAlarm.bind(storage),
    storage.deleteAll.bind(storage),
  ];
  sql.exec = (query, ...bindings) => {
    const cursor = exec<never>(query, ...bindings);
    counts.object_rows_written += cursor.rowsWritten;
    return cursor;
  };
  storage.setAlarm = (...args) => {
    counts.object_rows_written += 1;
    return setAlarm(...args);
  };
  // It drops the database whole; what that is billed as is written nowhere: a row, as for an alarm.
  storage.deleteAll = (...args) => {
    counts.object_rows_written += 1;
    return deleteAll(...args);
  };
}
