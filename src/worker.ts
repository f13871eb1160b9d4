/** The entry of the Worker. Wiring only. */
import { app } from "./app.ts";
import type { Bindings } from "./env.ts";
import { dispatch, project } from "./queue/consumer.ts";
import { servicesOf } from "./services/services.ts";
import { sweep } from "./services/sweep.ts";
import { sweepUploads } from "./services/uploads.ts";

export { PoolObject } from "./objects/pool/object.ts";
export { PredictionObject } from "./objects/prediction/object.ts";
export { RunnerObject } from "./objects/runner/object.ts";

export default {
  fetch: app.fetch,
  async queue(batch, env) {
    const consume = batch.queue.endsWith("-projection") ? project : dispatch;
    await consume(servicesOf(env), batch);
  },
  async scheduled(controller, env) {
    const services = servicesOf(env);
    const now = controller.scheduledTime;
    await Promise.all([sweep(services, now), sweepUploads(services, now)]);
  },
} satisfies ExportedHandler<Bindings>;
