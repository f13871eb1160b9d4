/** Predictions of Replicate's API, below /replicate/v1: creating, reading, canceling and streaming them. */
import { type Context, Hono } from "hono";
import { createMiddleware } from "hono/factory";
import { z } from "zod";
import type { AppEnv } from "../../context.ts";
import { parsePrefer, preferenceApplied } from "../../domain/predictions/prefer.ts";
import { cancelAfterIn, REPLICATE_PATH, webhookIn } from "../../domain/replicate/prediction.ts";
import { invalid } from "../../domain/schemas/validation.ts";
import { notVisible, ProblemError } from "../../errors/errors.ts";
import { sourceOf } from "../../lib/json-text.ts";
import { requireScope, requireScopeToRun } from "../../middleware/authentication.ts";
import { takesDataUris } from "../../middleware/body.ts";
import { limitWaitingRequest, watched } from "../../middleware/concurrent-requests.ts";
import { deploymentInPath, fieldInBody, modelInPath } from "../../middleware/named-model.ts";
import { limitAddress, limitRate } from "../../middleware/rate-limit.ts";
import { uuid } from "../../protocol/common.ts";
import { signedQuery } from "../../protocol/file.ts";
import { type PredictionQuery, predictionQuery } from "../../protocol/prediction.ts";
import {
  type CreateReplicateRun,
  createReplicatePrediction,
  createReplicateRun,
  replicatePageOf,
} from "../../protocol/replicate.ts";
import { createPrediction } from "../../services/predictions/create-prediction.ts";
import type { PredictionText } from "../../services/predictions/prediction-text.ts";
import { cancelPrediction } from "../../services/predictions/predictions.ts";
import {
  getReplicatePrediction,
  listReplicatePredictions,
  readVersionReference,
  replicateText,
} from "../../services/replicate/predictions.ts";
import { replicateStream, streamCaller, streamEnd } from "../../services/replicate/stream.ts";
import { afterOf, eventStream } from "../predictions/event-stream.ts";
import { parse, parseBody } from "../router.ts";

/** Predictions in a page. */
const PAGE_SIZE = 50;

const listQuery = z.object(
  predictionQuery.pick({ cursor: true, created_after: true, created_before: true }).shape,
);

const headers = z.object({ "idempotency-key": z.string().min(1).max(255).optional() });

const streamQuery = signedQuery.extend({ token_id: z.string().max(64) });

/** A stream's URL is read without a token, since clients send none with it. */
const allowStreamUrl = createMiddleware<AppEnv>(async (c, next) => {
  if (c.req.query("signature") === undefined) return requireScope("read", "predict")(c, next);
  const { token_id, ...signed } = parse(streamQuery, c.req.query(), "query");
  try {
    c.set("caller", await streamCaller(c.var.services, predictionId(c), token_id, signed));
  } catch (error) {
    if (error instanceof ProblemError) await limitAddress(c);
    throw error;
  }
  await limitRate(c, "token", token_id);
  await next();
});

export const replicatePredictionRoutes = new Hono<AppEnv>()
  .post("/predictions", takesDataUris, requireScopeToRun(fieldInBody("version")), async (c) => {
    const { version, model, ...request } = await parseBody(c, createReplicatePrediction);
    const named = version ?? model ?? "";
    const reference = await readVersionReference(c.var.services, c.var.caller, named);
    return begin(c, reference, request);
  })
  .post(
    "/models/:model_owner/:model_name/predictions",
    takesDataUris,
    requireScopeToRun(modelInPath),
    async (c) => {
      const { model_owner, model_name } = c.req.param();
      const request = await parseBody(c, createReplicateRun);
      return begin(c, `${model_owner}/${model_name}`, request);
    },
  )
  .post(
    "/deployments/:deployment_owner/:deployment_name/predictions",
    takesDataUris,
    requireScopeToRun(deploymentInPath),
    async (c) => {
      const { deployment_owner, deployment_name } = c.req.param();
      const request = await parseBody(c, createReplicateRun);
      return begin(c, `${deployment_owner}/${deployment_name}`, request, true);
    },
  )
  .get("/predictions", requireScope("read"), async (c) => {
    const { services, caller } = c.var;
    const { cursor, ...times } = parse(listQuery, c.req.query(), "query");
    const query: PredictionQuery = { ...predictionQuery.parse({}), ...times };
    const request = { cursor, size: PAGE_SIZE, url: c.req.url };
    return c.json(
      replicatePageOf(await listReplicatePredictions(services, caller, query, request)),
    );
  })
  .get("/predictions/:prediction_id", requireScope("read", "predict"), async (c) => {
    const { services, caller } = c.var;
    const { origin } = new URL(c.req.url);
    return json(await getReplicatePrediction(services, caller, predictionId(c), origin));
  })
  .post("/predictions/:prediction_id/cancel", requireScope("predict"), async (c) => {
    const { services, caller } = c.var;
    const id = predictionId(c);
    // Replicate answers with the prediction also if it has ended.
    await cancelPrediction(services, caller, id).catch((error: unknown) => {
      if (!(error instanceof ProblemError && error.code === "conflict")) throw error;
    });
    const { origin } = new URL(c.req.url);
    return json(await getReplicatePrediction(services, caller, id, origin));
  })
  .get("/streams/:prediction_id", allowStreamUrl, async (c) => {
    const { services, caller } = c.var;
    const after = afterOf(c.req.header("last-event-id"), undefined);
    const stream = await replicateStream(services, caller, predictionId(c), after);
    if (!stream) return eventStream(null, undefined);
    const { body } = await watched(c, stream, () => streamEnd(services, caller));
    return eventStream(body, undefined);
  });

/**
 * @param reference `owner/name` or `owner/name:number`
 * @param ofDeployment whether it must name a deployment
 */
async function begin(
  c: Context<AppEnv>,
  reference: string,
  { input, ...more }: CreateReplicateRun,
  ofDeployment = false,
): Promise<Response> {
  const { services, caller } = c.var;
  const { waitSeconds: most } = services.settings;
  const prefer = parsePrefer(c.req.header("prefer"), { default: most, max: most });
  const { waitSeconds = 0 } = prefer;
  const { origin } = new URL(c.req.url);
  const request = { input, stream: false, webhook: webhookIn(more) };
  c.var.bodies?.push(request);
  const options = {
    ofDeployment,
    origin,
    api: "replicate" as const,
    validateInput: c.req.header("validate-input") !== "false",
    waitSeconds,
    cancelAfterSeconds: cancelAfter(c) ?? (prefer.cancel ? waitSeconds : null),
    idempotencyKey: parse(headers, c.req.header(), "header")["idempotency-key"],
    sent: c.var.inlineFiles,
    source: c.var.sentBody && sourceOf(c.var.sentBody, "input"),
    onInputSent: c.var.releaseBody,
  };
  const answer = async () => {
    const { id, stub } = await createPrediction(services, caller, reference, request, options);
    const waited = waitSeconds > 0;
    const response = json(await replicateText(services, caller, stub, { id, origin, waited }), 201);
    response.headers.set("location", `${REPLICATE_PATH}/predictions/${id}`);
    const applied = preferenceApplied(prefer);
    if (applied) response.headers.set("preference-applied", applied);
    return response;
  };
  return waitSeconds > 0 ? limitWaitingRequest(c, answer) : answer();
}

/** @throws ValidationFailure */
function cancelAfter({ req }: Context): number | undefined {
  const header = req.header("cancel-after");
  if (header === undefined) return undefined;
  const seconds = cancelAfterIn(header);
  if (seconds !== undefined) return seconds;
  const error = "Send a time of 5 seconds to 24 hours, such as 90, 5m or 1h30m";
  throw invalid(["header", "Cancel-After"], error, "value_error", header);
}

/** @throws ProblemError not_found for what is no ID of ours */
function predictionId({ req }: Context): string {
  const id = req.param("prediction_id") ?? "";
  const { data } = uuid.safeParse(id);
  if (data === undefined) throw notVisible(`The prediction '${id.slice(0, 100)}'`);
  return data;
}

const json = (text: PredictionText["text"], status = 200) =>
  new Response(text, { status, headers: { "content-type": "application/json" } });
