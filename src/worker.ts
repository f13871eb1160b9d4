/** The Worker's entry point. Wiring only. */
import { app } from "./app.ts";
import { createDashboard } from "./dashboard/app.tsx";
import { isDocs } from "./dashboard/docs/contents.ts";
import type { Bindings } from "./env.ts";
import { duringRequest } from "./lib/current-request.ts";
import { count, dispatch, exportTraces } from "./queue/consumer.ts";
import { conventionMeant } from "./routes/convention-paths.ts";
import { getServices } from "./services/services.ts";
import { sweepAll } from "./services/sweeps.ts";

export { AccountObject } from "./objects/account/object.ts";
export { AuditObject } from "./objects/audit/object.ts";
export { ConversationObject } from "./objects/conversation/object.ts";
export { MetricsObject } from "./objects/metrics/object.ts";
export { PoolObject } from "./objects/pool/object.ts";
export { PredictionObject } from "./objects/prediction/object.ts";
export { RemoteObject } from "./objects/remote/object.ts";
export { RunnerObject } from "./objects/runner/object.ts";

const dashboard = createDashboard(app);

/** Paths that the API serves, besides the documentation. All others are pages of the dashboard. */
const API =
  /^https?:\/\/[^/]+\/(?:v1|v2|replicate|oauth|health|metrics|assets|avatars|pictures|\.well-known)(?:[/?]|$)/;

/** The consumers by the last part of a queue's name: operators may rename the rest. */
const CONSUMERS: Record<string, typeof dispatch> = { counts: count, traces: exportTraces };

const isForApp = (request: Request) =>
  API.test(request.url) || isDocs(request.url) || conventionMeant(request) !== undefined;

export default {
  fetch: (request: Request, env, context) =>
    duringRequest(
      {
        signal: request.signal,
        waitUntil: (promise) => context.waitUntil(promise),
        ip: request.headers.get("cf-connecting-ip"),
        userAgent: request.headers.get("user-agent"),
      },
      () => (isForApp(request) ? app : dashboard).fetch(request, env, context),
    ),
  async queue(batch, env) {
    const consume = CONSUMERS[batch.queue.split("-").at(-1) ?? ""] ?? dispatch;
    await consume(getServices(env), batch);
  },
  scheduled: (controller, env) => sweepAll(getServices(env), controller.scheduledTime),
} satisfies ExportedHandler<Bindings>;
