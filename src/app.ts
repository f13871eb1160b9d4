/** The API: the middleware of every request, and the list of route groups. */
import { methodNotAllowed } from "hono/method-not-allowed";
import { isDocs } from "./dashboard/docs/contents.ts";
import { mountDocs } from "./dashboard/docs/routes.tsx";
import { REPLICATE_PATH } from "./domain/replicate/prediction.ts";
import { conventionResponse, errorResponse, ProblemError } from "./errors/errors.ts";
import { openAiProblem } from "./errors/openai.ts";
import { isRegistryRequest } from "./errors/registry.ts";
import { isReplicateRequest } from "./errors/replicate.ts";
import { requestBody } from "./middleware/body.ts";
import { requireSender } from "./middleware/closed.ts";
import { countRequests } from "./middleware/request-counts.ts";
import { responseHeaders, separateFilesOrigin } from "./middleware/response-headers.ts";
import { budgetRoutes } from "./routes/accounts/budgets.ts";
import { deviceLoginRoutes } from "./routes/accounts/device-login.ts";
import { exportRoutes } from "./routes/accounts/export.ts";
import { organizationRoutes } from "./routes/accounts/organizations.ts";
import { usageRoutes } from "./routes/accounts/usage.ts";
import { avatarRoutes, userRoutes } from "./routes/accounts/users.ts";
import { alertRoutes } from "./routes/alerts.ts";
import { messageRoutes } from "./routes/anthropic/messages.ts";
import { anthropicModelRoutes } from "./routes/anthropic/models.ts";
import { auditRoutes } from "./routes/audit.ts";
import { backupRoutes } from "./routes/backups/backups.ts";
import { BASE_PATHS, conventionMeant, routePath } from "./routes/convention-paths.ts";
import { deploymentRoutes } from "./routes/deployments/deployments.ts";
import { grantRoutes } from "./routes/deployments/grants.ts";
import { fileRoutes } from "./routes/files/files.ts";
import { uploadRoutes } from "./routes/files/uploads.ts";
import { metricsRoutes } from "./routes/metrics.ts";
import { catalogueRoutes } from "./routes/models/catalogue.ts";
import { collaboratorRoutes } from "./routes/models/collaborators.ts";
import { exampleRoutes } from "./routes/models/examples.ts";
import { modelRoutes } from "./routes/models/models.ts";
import { pictureRoutes } from "./routes/models/pictures.ts";
import { variableRoutes } from "./routes/models/variables.ts";
import { versionPriceRoutes } from "./routes/models/version-prices.ts";
import { versionRoutes } from "./routes/models/versions.ts";
import { callRoutes } from "./routes/openai/calls.ts";
import { conversationRoutes } from "./routes/openai/conversations.ts";
import { imageRoutes } from "./routes/openai/images.ts";
import { openAiModelRoutes } from "./routes/openai/models.ts";
import { moderationAndRerankRoutes } from "./routes/openai/moderations-rerank.ts";
import { responseContextRoutes } from "./routes/openai/response-context.ts";
import { responseSocketRoutes } from "./routes/openai/response-socket.ts";
import { responseRoutes } from "./routes/openai/responses.ts";
import { speechRoutes } from "./routes/openai/speech.ts";
import { transcriptionRoutes } from "./routes/openai/transcriptions.ts";
import { operatorRoutes } from "./routes/operator.ts";
import { clientTokenRoutes } from "./routes/predictions/client-tokens.ts";
import { creationRoutes } from "./routes/predictions/create.ts";
import { lookUpRoutes } from "./routes/predictions/look-up.ts";
import { predictionRoutes } from "./routes/predictions/predictions.ts";
import { registryRoutes } from "./routes/registry/registry.ts";
import { replicateAccountRoutes } from "./routes/replicate/account.ts";
import { replicateDeploymentRoutes } from "./routes/replicate/deployments.ts";
import { replicateFileRoutes } from "./routes/replicate/files.ts";
import { replicateModelRoutes } from "./routes/replicate/models.ts";
import { replicatePredictionRoutes } from "./routes/replicate/predictions.ts";
import { router } from "./routes/router.ts";
import { fleetRoutes, runnerHistoryRoutes } from "./routes/runners/fleet.ts";
import { runnerRoutes } from "./routes/runners/runner.ts";
import { assetRoutes, healthRoutes, mountOpenapi, securityRoutes } from "./routes/site.ts";
import { statusRoutes } from "./routes/status.ts";
import { webhookRoutes } from "./routes/webhooks/deliveries.ts";
import { webhookEndpointRoutes } from "./routes/webhooks/endpoints.ts";
import { getServices } from "./services/services.ts";

const api = router({ getPath: routePath })
  .use(responseHeaders)
  .use(requestBody)
  .use(async (c, next) => {
    c.set("services", getServices(c.env));
    await next();
  })
  .use(countRequests)
  .use(separateFilesOrigin)
  .use(requireSender(isDocs));

api.use(
  methodNotAllowed({
    app: api,
    onMethodNotAllowed: (c, methods) => {
      const allow = methods.join(", ");
      const detail = `This URL does not support ${c.req.method}. It supports ${allow}.`;
      return errorResponse(new ProblemError("method_not_allowed", detail, { allow }), c);
    },
  }),
);

api.onError(errorResponse);
api.notFound((c) => {
  const { origin, pathname } = new URL(c.req.url);
  const nothing = `There is nothing at ${pathname.slice(0, 200)}.`;
  const convention = conventionMeant(c.req.raw);
  if (convention) {
    const detail = `${nothing} The base URL for this client is ${origin}${BASE_PATHS[convention]}.`;
    return conventionResponse(openAiProblem(404, detail), c, convention);
  }
  if (isReplicateRequest(c)) {
    const detail = `${nothing} The base URL for this client is ${origin}${REPLICATE_PATH}.`;
    return errorResponse(new ProblemError("not_found", detail), c);
  }
  const next = isRegistryRequest(c)
    ? "Images are {owner}/{model}, such as ada/story."
    : "All endpoints are listed at /docs/reference.";
  return errorResponse(new ProblemError("not_found", `${nothing} ${next}`), c);
});

api.route("/v1", creationRoutes);
api.route("/v1", predictionRoutes);
api.route("/v1", clientTokenRoutes);
api.route("/v1", modelRoutes);
api.route("/v1", versionRoutes);
api.route("/v1", versionPriceRoutes);
api.route("/v1", variableRoutes);
api.route("/v1", collaboratorRoutes);
api.route("/v1", exampleRoutes);
api.route("/v1", deploymentRoutes);
api.route("/v1", callRoutes);
api.route("/v1", imageRoutes);
api.route("/v1", moderationAndRerankRoutes);
api.route("/v1", responseContextRoutes);
api.route("/v1", responseRoutes);
api.route("/v1", conversationRoutes);
api.route(
  "/v1",
  responseSocketRoutes((request, c) => api.fetch(request, c.env, c.executionCtx)),
);
api.route("/v1", speechRoutes);
api.route("/v1", transcriptionRoutes);
api.route("/v1", openAiModelRoutes);
api.route("/v1", messageRoutes);
api.route("/v1", anthropicModelRoutes);
api.route("/v1", webhookRoutes);
api.route("/v1", webhookEndpointRoutes);
api.route("/v1", uploadRoutes);
api.route("/v1", fileRoutes);
api.route("/v1", exportRoutes);
api.route("/v1", usageRoutes);
api.route("/v1", budgetRoutes);
api.route("/v1", userRoutes);
api.route("/v1", organizationRoutes);
api.route("/v1", catalogueRoutes);
api.route("/v1", operatorRoutes);
api.route("/v1", grantRoutes);
// `runnerHistoryRoutes` come before `fleetRoutes`, whose actions do not include `log`.
api.route("/v1", runnerHistoryRoutes);
api.route("/v1", fleetRoutes);
api.route("/v1", alertRoutes);
api.route("/v1", statusRoutes);
api.route("/v1", lookUpRoutes);
api.route("/v1", auditRoutes);
api.route("/v1", backupRoutes);
api.route("/v1", runnerRoutes);
api.route(REPLICATE_PATH, replicatePredictionRoutes);
api.route(REPLICATE_PATH, replicateModelRoutes);
api.route(REPLICATE_PATH, replicateDeploymentRoutes);
api.route(REPLICATE_PATH, replicateFileRoutes);
api.route(REPLICATE_PATH, replicateAccountRoutes);
api.route("/", registryRoutes);
api.route("/", deviceLoginRoutes);
api.route("/", healthRoutes);
api.route("/", metricsRoutes);
api.route("/", assetRoutes);
api.route("/", avatarRoutes);
api.route("/", pictureRoutes);
api.route("/", securityRoutes);

mountOpenapi(api);
mountDocs(api);

export const app = api;
