/** The API: what every request goes through, and the list of route groups. */
import { cors } from "hono/cors";
import { methodNotAllowed } from "hono/method-not-allowed";
import { requestId } from "hono/request-id";
import { mountDocs } from "./dashboard/docs/routes.tsx";
import { answerError, ProblemError } from "./errors.ts";
import { problemToVendora } from "./errors-vendora.ts";
import { bodies } from "./middleware/body.ts";
import { uncached } from "./middleware/conditional.ts";
import { filesApart } from "./middleware/files-origin.ts";
import { saysRate } from "./middleware/rate-limit.ts";
import { LEFT_OUT_HEADER, notServed, PREDICTION_HEADER } from "./middleware/vendora.ts";
import { avatarRoutes } from "./routes/accounts/avatars.ts";
import { userRoutes } from "./routes/accounts/users.ts";
import { routes } from "./routes/context.ts";
import { fileRoutes } from "./routes/files/files.ts";
import { uploadRoutes } from "./routes/files/uploads.ts";
import { catalogueRoutes } from "./routes/models/catalogue.ts";
import { modelRoutes } from "./routes/models/models.ts";
import { variableRoutes } from "./routes/models/variables.ts";
import { versionRoutes } from "./routes/models/versions.ts";
import { mountOpenapi } from "./routes/openapi.ts";
import { operatorRoutes } from "./routes/operator.ts";
import { predictionRoutes } from "./routes/predictions/predictions.ts";
import { fleetRoutes } from "./routes/runners/fleet.ts";
import { runnerRoutes } from "./routes/runners/runner.ts";
import { securityRoutes } from "./routes/security.ts";
import { callRoutes } from "./routes/vendora/calls.ts";
import { vendoraModelRoutes } from "./routes/vendora/models.ts";
import { responseRoutes } from "./routes/vendora/responses.ts";
import { webhookRoutes } from "./routes/webhooks/deliveries.ts";
import { webhookEndpointRoutes } from "./routes/webhooks/endpoints.ts";
import { servicesOf } from "./services/services.ts";

/** Where clients of the vendora convention end up when their base address is not quite right. */
const BESIDE_VENDORA =
  /^(?:\/v1)?\/(?:chat\/completions|responses|embeddings)(?:\/|$)|^\/vendora(?:\/|$)/;

const api = routes()
  .use(requestId({ limitLength: 128 }))
  .use(uncached)
  .use(saysRate)
  // What users have written comes from the origin of pages, where scripts are 'self'.
  .use(async (c, next) => {
    await next();
    c.header("x-content-type-options", "nosniff");
  })
  .use(
    cors({
      origin: "*",
      exposeHeaders: [
        "x-request-id",
        "location",
        "preference-applied",
        PREDICTION_HEADER,
        LEFT_OUT_HEADER,
        "x-should-retry",
        "retry-after",
        "x-ratelimit-limit",
        "x-ratelimit-remaining",
        "x-ratelimit-reset",
        "etag",
        "accept-ranges",
        "content-range",
        "content-disposition",
      ],
      maxAge: 86_400,
    }),
  )
  .use(bodies)
  .use(async (c, next) => {
    c.set("services", servicesOf(c.env));
    await next();
  })
  .use(filesApart);

api.use(
  methodNotAllowed({
    app: api,
    onMethodNotAllowed: (c, methods) => {
      const unserved = c.req.method === "POST" ? notServed(c.req.path) : undefined;
      if (unserved) return answerError(unserved, c);
      const allow = methods.join(", ");
      const detail = `${c.req.method} is not for this address, which takes ${allow}.`;
      return answerError(new ProblemError("method_not_allowed", detail, { allow }), c);
    },
  }),
);

api.onError(answerError);
api.notFound((c) => {
  const nothing = `There is nothing at ${c.req.path.slice(0, 200)}.`;
  if (BESIDE_VENDORA.test(c.req.path)) {
    const base = `${new URL(c.req.url).origin}/v1/vendora`;
    const detail = `${nothing} The base address for this client is ${base}.`;
    return answerError(problemToVendora(404, detail), c);
  }
  return answerError(
    new ProblemError("not_found", `${nothing} All addresses are listed at /docs.`),
    c,
  );
});

api.route("/v1", predictionRoutes);
api.route("/v1", modelRoutes);
api.route("/v1", versionRoutes);
api.route("/v1", variableRoutes);
api.route("/v1", callRoutes);
api.route("/v1", responseRoutes);
api.route("/v1", vendoraModelRoutes);
api.route("/v1", webhookRoutes);
api.route("/v1", webhookEndpointRoutes);
api.route("/v1", uploadRoutes);
api.route("/v1", fileRoutes);
api.route("/v1", userRoutes);
api.route("/v1", catalogueRoutes);
api.route("/v1", operatorRoutes);
api.route("/v1", fleetRoutes);
api.route("/v1", runnerRoutes);
api.route("/", avatarRoutes);
api.route("/", securityRoutes);

mountOpenapi(api);
mountDocs(api);

export const app = api;
