/** /v1/predictions, and creating them under a model. */
import { createRoute, z } from "@hono/zod-openapi";
import type { Context, TypedResponse } from "hono";
import { parsePrefer, preferenceApplied } from "../domain/prefer.ts";
import { authenticated } from "../middleware/authentication.ts";
import { openStream } from "../objects/prediction/stub.ts";
import { pageOf, pageSize, slug, uuid } from "../protocol/common.ts";
import {
  type CreatePredictionOfVersion,
  createPrediction as createBody,
  createPredictionOfVersion as createOfVersionBody,
  MAX_STATUSES,
  type PredictionWithIO,
  prediction,
  predictionWithIO,
  taskStatus,
} from "../protocol/prediction.ts";
import { createPrediction } from "../services/create-prediction.ts";
import {
  cancelPrediction,
  getPrediction,
  listOwnPredictions,
  streamPrediction,
} from "../services/predictions.ts";
import { checkWebhook } from "../services/webhooks.ts";
import { type App, conflictAnswer, errorAnswers, jsonAnswer, jsonBody, routes } from "./context.ts";
import { eventStream } from "./event-stream.ts";

/** Idle limit of a stream, s. */
const MAX_IDLE_SECONDS = 3_600;

const createHeaders = z.object({
  "validate-input": z.enum(["true", "false"]).default("false"),
  prefer: z.string().max(1_000).optional(),
  "idempotency-key": z.string().min(1).max(255).optional(),
});

const createAnswers = {
  200: {
    description: "It has ended within the wait; or, with `stream`, its event stream",
    content: {
      "application/json": { schema: predictionWithIO },
      "text/event-stream": { schema: z.string() },
    },
  },
  202: jsonAnswer("It goes on: poll its `url`", predictionWithIO),
  ...errorAnswers,
  ...conflictAnswer,
};

const onePrediction = z.object({ prediction_id: uuid });
const oneModel = z.object({ model_owner: slug, model_name: slug });

const create = createRoute({
  method: "post",
  path: "/predictions",
  middleware: authenticated("predict"),
  request: { headers: createHeaders, body: jsonBody(createBody) },
  responses: createAnswers,
});

const createOfModel = createRoute({
  method: "post",
  path: "/models/{model_owner}/{model_name}/predictions",
  middleware: authenticated("predict"),
  request: { params: oneModel, headers: createHeaders, body: jsonBody(createOfVersionBody) },
  responses: createAnswers,
});

const createOfVersion = createRoute({
  method: "post",
  path: "/models/{model_owner}/{model_name}/versions/{version_number}/predictions",
  middleware: authenticated("predict"),
  request: {
    params: oneModel.extend({ version_number: z.coerce.number().int().min(1).max(999_999_999) }),
    headers: createHeaders,
    body: jsonBody(createOfVersionBody),
  },
  responses: createAnswers,
});

const list = createRoute({
  method: "get",
  path: "/predictions",
  middleware: authenticated("read"),
  request: {
    query: z.object({
      cursor: z.string().max(1_000).optional(),
      page_size: pageSize(50),
      statuses: z
        .preprocess(
          (value) => (typeof value === "string" ? [value] : value),
          z.array(taskStatus).max(MAX_STATUSES),
        )
        .default([]),
    }),
  },
  responses: { 200: jsonAnswer("Newest first", pageOf(prediction)), ...errorAnswers },
});

const get = createRoute({
  method: "get",
  path: "/predictions/{prediction_id}",
  middleware: authenticated("read", "predict"),
  request: { params: onePrediction },
  responses: {
    200: jsonAnswer("The prediction, with input and output", predictionWithIO),
    ...errorAnswers,
  },
});

const cancel = createRoute({
  method: "post",
  path: "/predictions/{prediction_id}/cancel",
  middleware: authenticated("predict"),
  request: { params: onePrediction },
  responses: {
    202: { description: "Cancellation is requested" },
    ...errorAnswers,
    ...conflictAnswer,
  },
});

const stream = createRoute({
  method: "get",
  path: "/predictions/{prediction_id}/stream",
  middleware: authenticated("read", "predict"),
  request: {
    params: onePrediction,
    query: z.object({
      after_id: z
        .string()
        .regex(/^\d{1,15}$/, "the id of an event")
        .optional(),
    }),
    headers: z.object({
      prefer: z.string().max(1_000).optional(),
      "last-event-id": z.string().max(100).optional(),
    }),
  },
  responses: {
    200: { description: "Its events", content: { "text/event-stream": { schema: z.string() } } },
    204: { description: "There is nothing after this event, and never will be" },
    ...errorAnswers,
  },
});

export const predictionRoutes = routes();

predictionRoutes.openapi(create, (c) => {
  const { model, ...request } = c.req.valid("json");
  return begin(c, model, request, c.req.valid("header"));
});

predictionRoutes.openapi(createOfModel, (c) => {
  const { model_owner, model_name } = c.req.valid("param");
  return begin(c, `${model_owner}/${model_name}`, c.req.valid("json"), c.req.valid("header"));
});

predictionRoutes.openapi(createOfVersion, (c) => {
  const { model_owner, model_name, version_number } = c.req.valid("param");
  const reference = `${model_owner}/${model_name}:${version_number}`;
  return begin(c, reference, c.req.valid("json"), c.req.valid("header"));
});

predictionRoutes.openapi(list, async (c) => {
  const { cursor, page_size, statuses } = c.req.valid("query");
  const page = { cursor, size: page_size, url: c.req.url };
  return c.json(await listOwnPredictions(c.var.services, c.var.caller, statuses, page), 200);
});

predictionRoutes.openapi(get, async (c) => {
  const { prediction_id } = c.req.valid("param");
  const origin = new URL(c.req.url).origin;
  return jsonText(await getPrediction(c.var.services, c.var.caller, prediction_id, origin), 200);
});

predictionRoutes.openapi(cancel, async (c) => {
  await cancelPrediction(c.var.services, c.var.caller, c.req.valid("param").prediction_id);
  return c.body(null, 202);
});

predictionRoutes.openapi(stream, async (c) => {
  const { prefer, "last-event-id": lastEventId } = c.req.valid("header");
  const { waitSeconds } = c.var.services.settings;
  const { wait: idle } = parsePrefer(prefer, { default: waitSeconds, max: MAX_IDLE_SECONDS });
  // What a reconnecting EventSource says is later than what its address was made with.
  const after = Number(
    /^\d{1,15}$/.exec(lastEventId ?? "")?.[0] ?? c.req.valid("query").after_id ?? 0,
  );
  const { prediction_id } = c.req.valid("param");
  const log = await streamPrediction(c.var.services, c.var.caller, prediction_id, after, idle);
  return eventStream(log, preferenceApplied({ wait: idle, cancel: false }));
});

async function begin(
  c: Context<App>,
  reference: string,
  request: CreatePredictionOfVersion,
  headers: z.infer<typeof createHeaders>,
) {
  const { services, caller } = c.var;
  const waitSeconds = services.settings.waitSeconds;
  const asked = parsePrefer(headers.prefer, {
    default: waitSeconds,
    max: request.stream ? MAX_IDLE_SECONDS : waitSeconds,
  });
  // On a stream the wait is an idle limit: whoever leaves it never stops the work.
  const prefer = { ...asked, cancel: asked.cancel && !request.stream };
  if (request.webhook) checkWebhook(services, request.webhook);
  const { snapshot, stub } = await createPrediction(services, caller, reference, request, {
    origin: new URL(c.req.url).origin,
    validateInput: headers["validate-input"] === "true",
    prefer,
    ...(headers["idempotency-key"] !== undefined && { idempotencyKey: headers["idempotency-key"] }),
  });
  const location = `/v1/predictions/${snapshot.id}`;
  const applied = preferenceApplied(prefer);
  if (request.stream) {
    return eventStream(await openStream(stub, 0, prefer.wait), applied, { location });
  }
  const response = jsonText(snapshot.body, snapshot.terminal ? 200 : 202);
  response.headers.set("location", location);
  if (applied) response.headers.set("preference-applied", applied);
  return response;
}

/** A body that is the JSON text of a full prediction already: the object wrote it, from its own types. */
function jsonText<Status extends 200 | 202>(text: string, status: Status) {
  const response: Response = new Response(text, {
    status,
    headers: { "content-type": "application/json" },
  });
  return response as Response & TypedResponse<PredictionWithIO, Status, "json">;
}
