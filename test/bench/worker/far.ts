/** Our Worker far from the shared objects: each call to D1, a pool or an account takes FAR_MS more. */
import type { Bindings } from "../../../src/env.ts";
import worker, {
  AccountObject as Account,
  PoolObject as Pool,
  PredictionObject as Prediction,
} from "../../../src/worker.ts";
import { override } from "./override.ts";

export {
  AuditObject,
  ConversationObject,
  MetricsObject,
  RemoteObject,
  RunnerObject,
} from "../../../src/worker.ts";

type FarBindings = Bindings & { FAR_MS: string };

const made = new WeakMap<FarBindings, Bindings>();

/** Returns the same bindings for the same environment, because our code caches by them. */
function farFrom(env: FarBindings): Bindings {
  const known = made.get(env);
  if (known) return known;
  const ms = Number(env.FAR_MS);
  const far = {
    ...env,
    DB: farDatabase(env.DB, ms),
    ACCOUNT: farNamespace(env.ACCOUNT, ms),
    POOL: farNamespace(env.POOL, ms),
  };
  made.set(env, far);
  return far;
}

type Call = (...args: unknown[]) => unknown;

const later =
  (ms: number) =>
  (call: Call): Call =>
  async (...args) => {
    await scheduler.wait(ms);
    return call(...args);
  };

/** The native statement of each wrapped one: a batch takes native statements only. */
const natives = new WeakMap<object, unknown>();

function farDatabase(database: D1Database, ms: number): D1Database {
  const far = later(ms);
  const statement = (target: unknown): unknown => {
    if (typeof target !== "object" || target === null) return target;
    const bind =
      (call: Call): Call =>
      (...values) =>
        statement(call(...values));
    const proxy = override(target, { bind, run: far, all: far, raw: far, first: far });
    natives.set(proxy, target);
    return proxy;
  };
  return override(database, {
    prepare: (prepare) => (sql) => statement(prepare(sql)),
    batch: (batch) => {
      const native = (statements: unknown) =>
        batch(Array.isArray(statements) ? statements.map((one) => natives.get(one)) : []);
      return far(native);
    },
  });
}

function farNamespace<Target extends object>(target: Target, ms: number): Target {
  const get =
    (call: Call): Call =>
    (...args) => {
      const stub = call(...args);
      return typeof stub === "object" && stub !== null ? override(stub, later(ms)) : stub;
    };
  return override(target, { get, getByName: get, jurisdiction: (call) => call });
}

export class PredictionObject extends Prediction {
  constructor(ctx: DurableObjectState, env: FarBindings) {
    super(ctx, farFrom(env));
  }
}

export class AccountObject extends Account {
  constructor(ctx: DurableObjectState, env: FarBindings) {
    super(ctx, farFrom(env));
  }
}

export class PoolObject extends Pool {
  constructor(ctx: DurableObjectState, env: FarBindings) {
    super(ctx, farFrom(env));
  }
}

export default {
  fetch: (request, env, ctx) => worker.fetch(request, farFrom(env), ctx),
  queue: (batch, env) => worker.queue(batch, farFrom(env)),
} satisfies ExportedHandler<FarBindings>;
