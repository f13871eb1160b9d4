/** The API: what every request goes through, and the list of route groups. */
import { bodyLimit } from "hono/body-limit";
import { cors } from "hono/cors";
import { requestId } from "hono/request-id";
import { answerError, notFound, ProblemError } from "./errors.ts";
import { routes } from "./routes/context.ts";
import { modelRoutes } from "./routes/models.ts";
import { operatorRoutes } from "./routes/operator.ts";
import { predictionRoutes } from "./routes/predictions.ts";
import { runnerRoutes } from "./routes/runner.ts";
import { servicesOf } from "./services/services.ts";

const MAX_BODY_BYTES = 10 * 1024 * 1024;

const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\b/i;

const api = routes()
  .use(requestId({ limitLength: 128 }))
  .use(
    cors({
      origin: "*",
      exposeHeaders: ["x-request-id", "location", "preference-applied", "retry-after"],
      maxAge: 86_400,
    }),
  )
  .use(
    bodyLimit({
      maxSize: MAX_BODY_BYTES,
      onError: () => {
        throw new ProblemError(
          "too_large",
          "A request body may have 10 MB. Send files by address instead.",
        );
      },
    }),
  )
  .use(async (c, next) => {
    const type = c.req.header("content-type");
    if (type !== undefined && c.req.raw.body !== null && !JSON_TYPE.test(type)) {
      const detail = `Send JSON: 'Content-Type: application/json', not '${type.slice(0, 100)}'.`;
      throw new ProblemError("unsupported_media_type", detail);
    }
    c.set("services", servicesOf(c.env));
    await next();
  });

api.onError(answerError);
api.notFound((c) => answerError(notFound(`${c.req.method} ${c.req.path}`), c));

api.route("/v1", predictionRoutes);
api.route("/v1", modelRoutes);
api.route("/v1", operatorRoutes);
api.route("/v1", runnerRoutes);

export const app = api;
