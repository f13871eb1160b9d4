/** The Worker's entry point. Wiring only. */
import { app } from "./app.ts";
import { createDashboard } from "./dashboard/app.tsx";
import { isDocs } from "./dashboard/docs/contents.ts";
import type { Bindings } from "./env.ts";
import { count, dispatch } from "./queue/consumer.ts";
import { sweepAccounts } from "./services/accounts/delete-account.ts";
import { sweepSuspended } from "./services/accounts/suspension.ts";
import { sweepBackups } from "./services/backups/make-backup.ts";
import { sweepUploads } from "./services/files/sweep-uploads.ts";
import { sweepListings } from "./services/models/prediction-counts.ts";
import { reEncrypt } from "./services/re-encrypt.ts";
import { sweepPools } from "./services/runners/pools.ts";
import { sweepRevokedTokens } from "./services/runners/revocation.ts";
import { getServices } from "./services/services.ts";
import { sweepSessions } from "./services/sign-in/sweep.ts";

export { AccountObject } from "./objects/account/object.ts";
export { PoolObject } from "./objects/pool/object.ts";
export { PredictionObject } from "./objects/prediction/object.ts";
export { RunnerObject } from "./objects/runner/object.ts";

const dashboard = createDashboard(app);

/** Paths that the API serves, besides the documentation. All others are pages of the dashboard. */
const API = /^https?:\/\/[^/]+\/(?:v1|assets|avatars|\.well-known)(?:[/?]|$)/;

const isForApp = (url: string) => API.test(url) || isDocs(url);

export default {
  fetch: (request: Request, env, context) =>
    (isForApp(request.url) ? app : dashboard).fetch(request, env, context),
  async queue(batch, env) {
    const consume = batch.queue.endsWith("-counts") ? count : dispatch;
    await consume(getServices(env), batch);
  },
  async scheduled(controller, env) {
    const services = getServices(env);
    const now = controller.scheduledTime;
    await Promise.all([
      sweepListings(services),
      sweepUploads(services, now),
      sweepAccounts(services, now),
      sweepSessions(services, now),
      sweepSuspended(services, now),
      sweepRevokedTokens(services, now),
      sweepPools(services),
      reEncrypt(services),
      sweepBackups(services, now),
    ]);
  },
} satisfies ExportedHandler<Bindings>;
