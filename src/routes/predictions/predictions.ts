/** /v1/predictions, and creating them under a model. */
import { createRoute, z } from "@hono/zod-openapi";
import type { Context, TypedResponse } from "hono";
import type { AppEnv } from "../../context.ts";
import { parsePrefer, preferenceApplied } from "../../domain/predictions/prefer.ts";
import { sourceOf } from "../../lib/json-text.ts";
import { requireScope, requireScopeToRun } from "../../middleware/authentication.ts";
import { takesDataUris } from "../../middleware/body.ts";
import { limitWaitingRequest, tokenReader } from "../../middleware/concurrent-requests.ts";
import { conditionalGet } from "../../middleware/conditional.ts";
import { deploymentInPath, modelInBody, modelInPath } from "../../middleware/named-model.ts";
import { allowStreamToken } from "../../middleware/stream-token.ts";
import { nothing, pageOf } from "../../protocol/common.ts";
import { oneDeployment } from "../../protocol/deployment.ts";
import { estimate } from "../../protocol/estimate.ts";
import { explanation } from "../../protocol/explanation.ts";
import { oneModel, oneVersion } from "../../protocol/model.ts";
import {
  type CreatePredictionOfVersion,
  createPrediction as createBody,
  createPredictionOfVersion as createOfVersionBody,
  onePrediction,
  type PredictionWithIO,
  prediction,
  predictionQuery,
  predictionWithIO,
} from "../../protocol/prediction.ts";
import { keepConversationItems } from "../../services/openai/conversation-updates.ts";
import { createdText } from "../../services/predictions/create-object.ts";
import {
  createPrediction,
  createPredictionStream,
} from "../../services/predictions/create-prediction.ts";
import { explainPrediction } from "../../services/predictions/explain.ts";
import type { PredictionText } from "../../services/predictions/prediction-text.ts";
import {
  cancelPrediction,
  getPrediction,
  listOwnPredictions,
  removePrediction,
  streamPrediction,
} from "../../services/predictions/predictions.ts";
import { estimatePrediction } from "../../services/runners/prediction-estimate.ts";
import { errorResponses, jsonBody, jsonResponse, problemResponse } from "../responses.ts";
import { pageRequest, router } from "../router.ts";
import {
  CREATING,
  createAnswers,
  createHeaders,
  prefer,
  preferenceHeader,
} from "./create-document.ts";
import { afterOf, eventStream, eventStreamContent, STREAM } from "./event-stream.ts";

const MAX_TOKEN_CHARS = 2_000;

/** The maximum idle limit of a stream. */
const MAX_IDLE_SECONDS = 3_600;

const tags = ["Predictions"];

const create = createRoute({
  method: "post",
  path: "/predictions",
  operationId: "createPrediction",
  tags,
  summary: "Create a prediction",
  description: CREATING,
  middleware: [takesDataUris, requireScopeToRun(modelInBody)],
  request: { headers: createHeaders, body: jsonBody(createBody) },
  responses: createAnswers,
});

const createOfModel = createRoute({
  method: "post",
  path: "/models/{model_owner}/{model_name}/predictions",
  operationId: "createPredictionOfModel",
  tags,
  summary: "Create a prediction with a model's default version",
  description: CREATING,
  middleware: [takesDataUris, requireScopeToRun(modelInPath)],
  request: { params: oneModel, headers: createHeaders, body: jsonBody(createOfVersionBody) },
  responses: createAnswers,
});

const createOfVersion = createRoute({
  method: "post",
  path: "/models/{model_owner}/{model_name}/versions/{version_number}/predictions",
  operationId: "createPredictionOfVersion",
  tags,
  summary: "Create a prediction with a specific version",
  description: CREATING,
  middleware: [takesDataUris, requireScopeToRun(modelInPath)],
  request: {
    params: oneVersion,
    headers: createHeaders,
    body: jsonBody(createOfVersionBody),
  },
  responses: createAnswers,
});

const createOfDeployment = createRoute({
  method: "post",
  path: "/deployments/{deployment_owner}/{deployment_name}/predictions",
  operationId: "createPredictionOfDeployment",
  tags: ["Deployments"],
  summary: "Create a prediction with a deployment",
  description: CREATING,
  middleware: [takesDataUris, requireScopeToRun(deploymentInPath)],
  request: { params: oneDeployment, headers: createHeaders, body: jsonBody(createOfVersionBody) },
  responses: createAnswers,
});

const estimateOne = createRoute({
  method: "post",
  path: "/predictions/estimate",
  operationId: "estimatePrediction",
  tags,
  summary: "Estimate a prediction",
  description:
    "Returns the expected cost and time of a prediction with this body, without creating it. The input is validated like that of a create, and otherwise does not change the estimate. Requires the scope `predict`.",
  middleware: [takesDataUris, requireScopeToRun(modelInBody)],
  request: { headers: createHeaders.pick({ "validate-input": true }), body: jsonBody(createBody) },
  responses: { 200: jsonResponse("The estimate", estimate), ...errorResponses },
});

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

predictionRoutes.openapi(create, (c) => {
  const { model } = c.req.valid("json");
  const requested = () => {
    const { model: _, ...request } = c.req.valid("json");
    return request;
  };
  return begin(c, model, requested, c.req.valid("header"));
});

predictionRoutes.openapi(estimateOne, async (c) => {
  const { services, caller } = c.var;
  const checked = validates(c, c.req.valid("header"));
  return c.json(await estimatePrediction(services, caller, c.req.valid("json"), checked), 200);
});

predictionRoutes.openapi(createOfModel, (c) => {
  const { model_owner, model_name } = c.req.valid("param");
  const reference = `${model_owner}/${model_name}`;
  return begin(c, reference, () => c.req.valid("json"), c.req.valid("header"));
});

predictionRoutes.openapi(createOfVersion, (c) => {
  const { model_owner, model_name, version_number } = c.req.valid("param");
  const reference = `${model_owner}/${model_name}:${version_number}`;
  return begin(c, reference, () => c.req.valid("json"), c.req.valid("header"));
});

predictionRoutes.openapi(createOfDeployment, (c) => {
  const { deployment_owner, deployment_name } = c.req.valid("param");
  const reference = `${deployment_owner}/${deployment_name}`;
  return begin(c, reference, () => c.req.valid("json"), c.req.valid("header"), true);
});

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

/** Whether the input is validated, by the header or else the setting. */
const validates = (
  { var: { services } }: Context<AppEnv>,
  { "validate-input": asked }: Pick<z.infer<typeof createHeaders>, "validate-input">,
): boolean => (asked === undefined ? services.settings.validateInput : asked === "true");

/**
 * @param requested reads the body from the request, which then releases it
 * @param ofDeployment whether the reference must name a deployment
 */
async function begin(
  c: Context<AppEnv>,
  reference: string,
  requested: () => CreatePredictionOfVersion,
  headers: z.infer<typeof createHeaders>,
  ofDeployment = false,
) {
  const { services, caller } = c.var;
  const { waitSeconds } = services.settings;
  const { stream } = requested();
  const preferred = parsePrefer(headers.prefer, {
    default: waitSeconds,
    max: stream ? MAX_IDLE_SECONDS : waitSeconds,
  });
  // A stream takes `wait` as an idle limit, and leaving it never cancels the prediction.
  const prefer = { ...preferred, cancel: preferred.cancel && !stream };
  const options = {
    ofDeployment,
    origin: new URL(c.req.url).origin,
    validateInput: validates(c, headers),
    waitSeconds: prefer.waitSeconds ?? 0,
    cancelAfterSeconds: prefer.cancel ? (prefer.waitSeconds ?? null) : null,
    idempotencyKey: headers["idempotency-key"],
    sent: c.var.inlineFiles,
    source: c.var.sentBody && sourceOf(c.var.sentBody, "input"),
    onInputSent: c.var.releaseBody,
  };
  const applied = preferenceApplied(prefer);
  if (stream) {
    const { id, events } = await createPredictionStream(services, caller, reference, requested(), {
      ...options,
      idleSeconds: prefer.waitSeconds,
      reader: tokenReader(c),
    });
    const response = eventStream(events, applied, { location: `/v1/predictions/${id}` });
    // The document describes streams at `streamPrediction`.
    return response as Response & TypedResponse<PredictionWithIO, 200, "json">;
  }
  const answer = async () => {
    const created = await createPrediction(services, caller, reference, requested(), options);
    const { terminal, status, ...text } = await createdText(services, created);
    // A prediction that the preference itself canceled has not ended within the wait.
    const hasEnded = terminal && !(prefer.cancel && status === "canceled");
    const response = jsonText(text, hasEnded ? 200 : 202);
    response.headers.set("location", `/v1/predictions/${created.id}`);
    if (applied) response.headers.set("preference-applied", applied);
    return response;
  };
  return options.waitSeconds > 0 ? limitWaitingRequest(c, answer) : answer();
}

/** A response whose body is the JSON text of a full prediction, as its object wrote it. */
function jsonText<Status extends 200 | 202>({ text, etag }: PredictionText, status: Status) {
  const response: Response = new Response(text, {
    status,
    headers: { "content-type": "application/json", ...(etag && { etag }) },
  });
  return response as Response & TypedResponse<PredictionWithIO, Status, "json">;
}
