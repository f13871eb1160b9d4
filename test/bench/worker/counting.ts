/**
 * Our Worker with a meter: the production code, with bindings and storage that count each call. `GET /counts`
 * answers the numbers and whether more will come. The calls that a runner makes without work are not counted.
 */
import type { Bindings } from "../../../src/env.ts";
import worker, {
  AccountObject as Account,
  PoolObject as Pool,
  PredictionObject as Prediction,
} from "../../../src/worker.ts";
import type { Look } from "../prices.ts";
import { countLines, counts, countTimers, progress, watchMethods } from "./counts.ts";
import { meter, metered } from "./metered.ts";

export {
  AuditObject,
  ConversationObject,
  MetricsObject,
  RemoteObject,
  RunnerObject,
} from "../../../src/worker.ts";

const IDLE = new Set(["/v1/runner/sessions", "/v1/runner/telemetry"]);

const ids = new WeakMap<object, string>();

countLines();
countTimers();
watchMethods(Prediction.prototype, (object) => ids.get(object) ?? "");
watchMethods(Account.prototype, (object) => ids.get(object) ?? "");

export class PredictionObject extends Prediction {
  constructor(ctx: DurableObjectState, env: Bindings) {
    meter(ctx, () => {
      progress.emptied += 1;
    });
    super(ctx, metered(env));
    ids.set(this, ctx.id.toString());
  }

  override alarm(): Promise<void> {
    counts.object_requests += 1;
    return super.alarm();
  }

  override webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): Promise<void> {
    counts.object_messages += 1;
    return super.webSocketMessage(socket, message);
  }
}

export class AccountObject extends Account {
  constructor(ctx: DurableObjectState, env: Bindings) {
    meter(ctx);
    super(ctx, metered(env));
    ids.set(this, ctx.id.toString());
  }

  override alarm(): Promise<void> {
    counts.object_requests += 1;
    return super.alarm();
  }
}

export class PoolObject extends Pool {
  constructor(ctx: DurableObjectState, env: Bindings) {
    meter(ctx);
    super(ctx, metered(env));
  }
}

export default {
  fetch(request, env, ctx) {
    const { pathname } = new URL(request.url);
    if (pathname === "/counts") return Response.json({ counts, ...progress } satisfies Look);
    if (IDLE.has(pathname)) return worker.fetch(request, env, ctx);
    counts.worker_requests += 1;
    return worker.fetch(request, metered(env), ctx);
  },
  async queue(batch, env) {
    counts.worker_requests += 1;
    await worker.queue(batch, metered(env));
    counts.queue_operations += 2 * batch.messages.length;
    progress.queued -= batch.messages.length;
  },
} satisfies ExportedHandler<Bindings>;
