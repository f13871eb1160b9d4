/** Predictions that exist: their list, and /v1/predictions/{prediction_id}. */
import { createRoute, z } from "@hono/zod-openapi";
import { parsePrefer, preferenceApplied } from "../../domain/predictions/prefer.ts";
import { requireScope } from "../../middleware/authentication.ts";
import { tokenReader } from "../../middleware/concurrent-requests.ts";
import { conditionalGet } from "../../middleware/conditional.ts";
import { allowStreamToken } from "../../middleware/stream-token.ts";
import { nothing, pageOf } from "../../protocol/common.ts";
import { explanation } from "../../protocol/explanation.ts";
import {
  onePrediction,
  prediction,
  predictionQuery,
  predictionWithIO,
} from "../../protocol/prediction.ts";
import { keepConversationItems } from "../../services/openai/conversation-updates.ts";
import { explainPrediction } from "../../services/predictions/explain.ts";
import {
  cancelPrediction,
  getPrediction,
  listOwnPredictions,
  removePrediction,
  streamPrediction,
} from "../../services/predictions/predictions.ts";
import { errorResponses, jsonResponse, problemResponse } from "../responses.ts";
import { pageRequest, router } from "../router.ts";
import { jsonText } from "./create.ts";
import { prefer, preferenceHeader } from "./create-document.ts";
import {
  afterOf,
  eventStream,
  eventStreamContent,
  MAX_IDLE_SECONDS,
  STREAM,
} from "./event-stream.ts";

const MAX_TOKEN_CHARS = 2_000;

const tags = ["Predictions"];

const list = createRoute({
  method: "get",
  path: "/predictions",
  operationId: "listPredictions",
  tags,
  summary: "List your predictions",
  description:
    "Newest first, without input and output. The list can lag by two seconds, or up to five minutes after a restart of the service; GET /predictions/{prediction_id} is always current. Each page searches up to 10,000 predictions for matches, so a page can have few or no items and still have a `next_url`. Requires the scope `read`.",
  middleware: requireScope("read"),
  request: { query: predictionQuery },
  responses: { 200: jsonResponse("A page of predictions", pageOf(prediction)), ...errorResponses },
});

const get = createRoute({
  method: "get",
  path: "/predictions/{prediction_id}",
  operationId: "getPrediction",
  tags,
  summary: "Get a prediction",
  description: "Includes input and output. Requires the scope `read` or `predict`.",
  middleware: [requireScope("read", "predict"), conditionalGet],
  request: { params: onePrediction },
  responses: {
    200: jsonResponse("The prediction, with input and output", predictionWithIO),
    ...errorResponses,
  },
});

const explain = createRoute({
  method: "get",
  path: "/predictions/{prediction_id}/explain",
  operationId: "explainPrediction",
  tags,
  summary: "Explain why a prediction is queued",
  description:
    "Returns why a prediction is not running yet, what would help, and an estimated start. For a running or finished prediction, returns its timeline. Other users' models and runners are hidden. Operators see them with GET /operator/users/{username}/predictions/{prediction_id}/explain. Requires the scope `read` or `predict`.",
  middleware: requireScope("read", "predict"),
  request: { params: onePrediction },
  responses: {
    200: jsonResponse("Why the prediction is not running yet", explanation),
    ...errorResponses,
  },
});

const cancel = createRoute({
  method: "post",
  path: "/predictions/{prediction_id}/cancel",
  operationId: "cancelPrediction",
  tags,
  summary: "Cancel a prediction",
  description:
    "Requests cancellation. The prediction ends as `canceled` shortly after, even if the model finishes in the meantime, and keeps its output so far. You can repeat the request until the prediction has ended. Requires the scope `predict`.",
  middleware: requireScope("predict"),
  request: { params: onePrediction },
  responses: {
    202: { description: "Cancellation requested" },
    ...errorResponses,
    409: problemResponse("The prediction has already ended"),
  },
});

const remove = createRoute({
  method: "delete",
  path: "/predictions/{prediction_id}",
  operationId: "deletePrediction",
  tags,
  summary: "Delete the data of a prediction",
  description:
    "Deletes input, output, events and files of a prediction that has ended. The prediction itself is kept, with `data_removed`, and so are the uploads it used. Requires the scope `predict`.",
  middleware: requireScope("predict"),
  request: { params: onePrediction },
  responses: {
    200: jsonResponse("The data is deleted", nothing),
    ...errorResponses,
    409: problemResponse("The prediction has not ended. Cancel it first"),
  },
});

const stream = createRoute({
  method: "get",
  path: "/predictions/{prediction_id}/stream",
  operationId: "streamPrediction",
  tags,
  summary: "Stream a prediction's events",
  description: STREAM,
  middleware: allowStreamToken,
  request: {
    params: onePrediction,
    query: z.strictObject({
      token: z.string().max(MAX_TOKEN_CHARS).optional().meta({
        description:
          "A stream token, for an `EventSource`, which cannot send the header `Authorization`",
      }),
      after_id: z
        .string()
        .regex(
          /^\d{0,15}$/,
          "Input should be the ID of an event: a whole number, such as 'after_id=4'",
        )
        .optional()
        .meta({
          description: "ID of an event. The stream starts after it. By default, from the beginning",
          example: "4",
        }),
    }),
    headers: z.object({
      prefer: prefer.meta({
        description:
          "`wait=<seconds>` closes the stream after that long without an event, up to 3,600 s. No limit by default",
        example: "wait=60",
      }),
      "last-event-id": z.string().max(100).optional().meta({
        description:
          "Sent by an `EventSource` when it reconnects. Takes precedence over `after_id`",
        example: "4",
      }),
    }),
  },
  responses: {
    200: { description: "The events", headers: preferenceHeader, content: eventStreamContent },
    204: { description: "No more events" },
    ...errorResponses,
  },
});

export const predictionRoutes = router();

predictionRoutes.openapi(list, async (c) => {
  const { services, caller } = c.var;
  const query = c.req.valid("query");
  const request = pageRequest(c, query);
  return c.json(await listOwnPredictions(services, caller, query, request), 200);
});

predictionRoutes.openapi(get, async (c) => {
  const { prediction_id } = c.req.valid("param");
  const origin = new URL(c.req.url).origin;
  return jsonText(await getPrediction(c.var.services, c.var.caller, prediction_id, origin), 200);
});

predictionRoutes.openapi(explain, async (c) => {
  const { prediction_id } = c.req.valid("param");
  return c.json(await explainPrediction(c.var.services, c.var.caller, prediction_id), 200);
});

predictionRoutes.openapi(remove, async (c) => {
  const { services, caller } = c.var;
  const { prediction_id } = c.req.valid("param");
  await keepConversationItems(services, caller, prediction_id);
  await removePrediction(services, caller, prediction_id);
  return c.json({}, 200);
});

predictionRoutes.openapi(cancel, async (c) => {
  await cancelPrediction(c.var.services, c.var.caller, c.req.valid("param").prediction_id);
  return c.body(null, 202);
});

predictionRoutes.openapi(stream, async (c) => {
  const { prefer, "last-event-id": lastEventId } = c.req.valid("header");
  const { waitSeconds } = c.var.services.settings;
  const { waitSeconds: idle_seconds } = parsePrefer(prefer, {
    default: waitSeconds,
    max: MAX_IDLE_SECONDS,
  });
  const after = afterOf(lastEventId, c.req.valid("query").after_id);
  const { prediction_id } = c.req.valid("param");
  const { services, caller } = c.var;
  const reader = tokenReader(c);
  const options = { after, idle_seconds, reader };
  const events = await streamPrediction(services, caller, prediction_id, options);
  return eventStream(events, preferenceApplied({ waitSeconds: idle_seconds, cancel: false }));
});
