/** The entry of the Worker. Wiring only. */
import { app } from "./app.ts";
import { dashboardBefore } from "./dashboard/app.tsx";
import type { Bindings } from "./env.ts";
import { dispatch, project } from "./queue/consumer.ts";
import { sweepAccounts } from "./services/delete-account.ts";
import { sweepHistory } from "./services/history.ts";
import { sweepSealed } from "./services/reseal.ts";
import { servicesOf } from "./services/services.ts";
import { sweepSessions } from "./services/sign-in/sweep.ts";
import { sweepSuspended } from "./services/suspension.ts";
import { sweep } from "./services/sweep.ts";
import { sweepUploads } from "./services/sweep-uploads.ts";

export { PoolObject } from "./objects/pool/object.ts";
export { PredictionObject } from "./objects/prediction/object.ts";
export { RunnerObject } from "./objects/runner/object.ts";

const dashboard = dashboardBefore(app);

/** Addresses of the API, of what it says of itself, and of what it shows of users; all others are pages. */
const API = /^https?:\/\/[^/]+\/(?:v1|docs|avatars|\.well-known)(?:[/?]|$)/;

export default {
  fetch: (request: Request, env, context) =>
    (API.test(request.url) ? app : dashboard).fetch(request, env, context),
  async queue(batch, env) {
    const consume = batch.queue.endsWith("-projection") ? project : dispatch;
    await consume(servicesOf(env), batch);
  },
  async scheduled(controller, env) {
    const services = servicesOf(env);
    const now = controller.scheduledTime;
    await Promise.all([
      sweep(services, now),
      sweepHistory(services, now),
      sweepUploads(services, now),
      sweepAccounts(services, now),
      sweepSessions(services, now),
      sweepSuspended(services, now),
      sweepSealed(services),
    ]);
  },
} satisfies ExportedHandler<Bindings>;
