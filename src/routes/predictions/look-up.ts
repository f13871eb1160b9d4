/** Predictions under /v1/operator: look-ups by support. */
import { createRoute } from "@hono/zod-openapi";
import { requireOperator } from "../../middleware/authentication.ts";
import { pageQuery, slugInPath } from "../../protocol/common.ts";
import { explanation } from "../../protocol/explanation.ts";
import { operatorPrediction, predictionSearch } from "../../protocol/operator.ts";
import { onePrediction } from "../../protocol/prediction.ts";
import { explainOfUser, lookUp, search } from "../../services/predictions/look-up.ts";
import { errorResponses, jsonResponse } from "../responses.ts";
import { router } from "../router.ts";

const operators = { tags: ["Operator"], middleware: requireOperator };

const ofUser = createRoute({
  ...operators,
  method: "get",
  path: "/operator/users/{username}/predictions/{prediction_id}",
  operationId: "lookUpPrediction",
  summary: "Look up a user's prediction",
  description: "Without its input and output. Each look-up is logged.",
  request: { params: onePrediction.extend({ username: slugInPath }) },
  responses: { 200: jsonResponse("The prediction", operatorPrediction), ...errorResponses },
});

const explain = createRoute({
  ...operators,
  method: "get",
  path: "/operator/users/{username}/predictions/{prediction_id}/explain",
  operationId: "explainPredictionOfUser",
  summary: "Explain a user's prediction",
  description:
    "Returns the same as GET /predictions/{prediction_id}/explain, plus the names of the models and runners involved. Each look-up is logged.",
  request: { params: onePrediction.extend({ username: slugInPath }) },
  responses: {
    200: jsonResponse("Why the prediction is not running yet", explanation),
    ...errorResponses,
  },
});

const ofAnybody = createRoute({
  ...operators,
  method: "get",
  path: "/operator/predictions/{prediction_id}",
  operationId: "searchPrediction",
  summary: "Find a prediction by ID",
  description:
    "Searches the accounts that have been active since the prediction was created, up to 200 per request. If `found` is null, request `next_url` to search more accounts. If both are null, the prediction was not found; accounts in `unanswered` did not respond in time, so look it up with their usernames. It can take 10 minutes before a new prediction is found. Each look-up is logged.",
  request: {
    params: onePrediction,
    query: pageQuery().pick({ cursor: true }),
  },
  responses: { 200: jsonResponse("The result of this step", predictionSearch), ...errorResponses },
});

export const lookUpRoutes = router()
  .openapi(ofUser, async (c) => {
    const { username, prediction_id } = c.req.valid("param");
    const { origin } = new URL(c.req.url);
    return c.json(await lookUp(c.var.services, username, prediction_id, origin), 200);
  })
  .openapi(explain, async (c) => {
    const { username, prediction_id } = c.req.valid("param");
    return c.json(await explainOfUser(c.var.services, username, prediction_id), 200);
  })
  .openapi(ofAnybody, async (c) => {
    const { prediction_id } = c.req.valid("param");
    const { cursor } = c.req.valid("query");
    return c.json(await search(c.var.services, prediction_id, { url: c.req.url, cursor }), 200);
  });
