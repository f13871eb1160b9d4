/** Creating predictions, and estimating one, under /v1/predictions, models, versions and deployments. */
import { createRoute, type z } from "@hono/zod-openapi";
import type { Context, TypedResponse } from "hono";
import type { AppEnv } from "../../context.ts";
import { parsePrefer, preferenceApplied } from "../../domain/predictions/prefer.ts";
import { sourceOf } from "../../lib/json-text.ts";
import { requireScopeToRun } from "../../middleware/authentication.ts";
import { takesDataUris } from "../../middleware/body.ts";
import { limitWaitingRequest, tokenReader } from "../../middleware/concurrent-requests.ts";
import { deploymentInPath, modelInBody, modelInPath } from "../../middleware/named-model.ts";
import { oneDeployment } from "../../protocol/deployment.ts";
import { estimate } from "../../protocol/estimate.ts";
import { oneModel, oneVersion } from "../../protocol/model.ts";
import {
  type CreatePredictionOfVersion,
  createPrediction as createBody,
  createPredictionOfVersion as createOfVersionBody,
  type PredictionWithIO,
} from "../../protocol/prediction.ts";
import { createdText } from "../../services/predictions/create-object.ts";
import {
  createPrediction,
  createPredictionStream,
} from "../../services/predictions/create-prediction.ts";
import type { PredictionText } from "../../services/predictions/prediction-text.ts";
import { estimatePrediction } from "../../services/runners/prediction-estimate.ts";
import { errorResponses, jsonBody, jsonResponse } from "../responses.ts";
import { router } from "../router.ts";
import { CREATING, createAnswers, createHeaders } from "./create-document.ts";
import { eventStream, MAX_IDLE_SECONDS } from "./event-stream.ts";

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

export const creationRoutes = router();

creationRoutes.openapi(create, (c) => {
  const { model } = c.req.valid("json");
  const requested = () => {
    const { model: _, ...request } = c.req.valid("json");
    return request;
  };
  return begin(c, model, requested, c.req.valid("header"));
});

creationRoutes.openapi(estimateOne, async (c) => {
  const { services, caller } = c.var;
  const checked = validates(c, c.req.valid("header"));
  return c.json(await estimatePrediction(services, caller, c.req.valid("json"), checked), 200);
});

creationRoutes.openapi(createOfModel, (c) => {
  const { model_owner, model_name } = c.req.valid("param");
  const reference = `${model_owner}/${model_name}`;
  return begin(c, reference, () => c.req.valid("json"), c.req.valid("header"));
});

creationRoutes.openapi(createOfVersion, (c) => {
  const { model_owner, model_name, version_number } = c.req.valid("param");
  const reference = `${model_owner}/${model_name}:${version_number}`;
  return begin(c, reference, () => c.req.valid("json"), c.req.valid("header"));
});

creationRoutes.openapi(createOfDeployment, (c) => {
  const { deployment_owner, deployment_name } = c.req.valid("param");
  const reference = `${deployment_owner}/${deployment_name}`;
  return begin(c, reference, () => c.req.valid("json"), c.req.valid("header"), true);
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
export function jsonText<Status extends 200 | 202>({ text, etag }: PredictionText, status: Status) {
  const response: Response = new Response(text, {
    status,
    headers: { "content-type": "application/json", ...(etag && { etag }) },
  });
  return response as Response & TypedResponse<PredictionWithIO, Status, "json">;
}
