/** POST /v1/client_tokens, and stream tokens of a prediction. */
import { createRoute } from "@hono/zod-openapi";
import { requireScope } from "../../middleware/authentication.ts";
import {
  clientToken,
  createClientToken as createClientTokenBody,
  createStreamToken as createStreamTokenBody,
  streamToken,
} from "../../protocol/client-token.ts";
import { onePrediction } from "../../protocol/prediction.ts";
import { createClientToken, createStreamToken } from "../../services/accounts/client-tokens.ts";
import { errorResponses, jsonBody, jsonResponse } from "../responses.ts";
import { router } from "../router.ts";

const tags = ["Predictions"];

const createClient = createRoute({
  method: "post",
  path: "/client_tokens",
  operationId: "createClientToken",
  tags,
  summary: "Create a token for a web page",
  description:
    "Call this on your server, and give the token to your web page. It runs the named models, for these origins alone, and reads and cancels only the predictions that it created. It ends when it expires, and within 10 s of the access token that created it; it counts against the limits of that token. It cannot be revoked alone. Requires the scope `predict`, and a token that is not for web pages itself.",
  middleware: requireScope("predict"),
  request: { body: jsonBody(createClientTokenBody) },
  responses: {
    200: jsonResponse("The token, which is not shown again", clientToken),
    ...errorResponses,
  },
});

const createStream = createRoute({
  method: "post",
  path: "/predictions/{prediction_id}/stream_tokens",
  operationId: "createStreamToken",
  tags,
  summary: "Create a token for a prediction's events",
  description:
    "The token reads the event stream of this prediction, and nothing else: as the parameter `token` of the URL, for an `EventSource` on any page, or in the header `Authorization`. It ends when it expires, and within 10 s when the token that created it ends or may no longer read the prediction. Requires the scope `read` or `predict`.",
  middleware: requireScope("read", "predict"),
  request: { params: onePrediction, body: jsonBody(createStreamTokenBody) },
  responses: {
    200: jsonResponse("The token, which is not shown again", streamToken),
    ...errorResponses,
  },
});

export const clientTokenRoutes = router()
  .openapi(createClient, async (c) =>
    c.json(await createClientToken(c.var.services, c.var.caller, c.req.valid("json")), 200),
  )
  .openapi(createStream, async (c) => {
    const { services, caller } = c.var;
    const { prediction_id } = c.req.valid("param");
    const { expires_in } = c.req.valid("json");
    const { origin } = new URL(c.req.url);
    return c.json(
      await createStreamToken(services, caller, prediction_id, origin, expires_in),
      200,
    );
  });
