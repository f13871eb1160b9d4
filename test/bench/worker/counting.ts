/**
 * Our Worker with a meter: the production code, whose bindings and storage count each call.
 * `GET /counts` tells the numbers. Not counted is what a runner does whether there is work or not.
 */
import type { Bindings } from "../../../src/env.ts";
import worker, { PoolObject as Pool, PredictionObject as Prediction } from "../../../src/worker.ts";
import { counts } from "./counts.ts";
import { meter, metered } from "./metered.ts";

export { RunnerObject } from "../../../src/worker.ts";

const IDLE = new Set(["/v1/runner/sessions", "/v1/runner/telemetry"]);

export class PredictionObject extends Prediction {
  constructor(ctx: DurableObjectState, env: Bindings) {
    meter(ctx);
    super(ctx, metered(env));
  }

  override alarm(): Promise<void> {
    counts.object_requests += 1;
    return super.alarm();
  }

  override webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): void {
    counts.object_messages += 1;
    super.webSocketMessage(socket, message);
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
    if (pathname === "/counts") return Response.json(counts);
    if (IDLE.has(pathname)) return worker.fetch(request, env, ctx);
    counts.worker_requests += 1;
    return worker.fetch(request, metered(env), ctx);
  },
  async queue(batch, env) {
    counts.worker_requests += 1;
    await worker.queue(batch, metered(env));
    counts.queue_operations += 2 * batch.messages.length;
  },
} satisfies ExportedHandler<Bindings>;
