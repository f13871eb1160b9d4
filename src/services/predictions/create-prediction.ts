/** Creates predictions: object and row in parallel, once per Idempotency-Key. */
import { v7 as uuid } from "uuid";
import { sha256 } from "../../domain/accounts/token.ts";
import { predictionRow } from "../../domain/predictions/prediction-row.ts";
import { initialState, type PredictionSpec } from "../../domain/predictions/state.ts";
import { validateInput } from "../../domain/schemas/json-schema.ts";
import {
  fault,
  issueAt,
  jsonText,
  type Loc,
  ValidationFailure,
} from "../../domain/schemas/validation.ts";
import { versionSchema } from "../../domain/schemas/version-schemas.ts";
import { callOf } from "../../domain/vendora/call.ts";
import { ProblemError } from "../../errors.ts";
import { logger } from "../../log.ts";
import type { CreateRequest, CreateResult, Snapshot } from "../../objects/prediction/rpc-types.ts";
import {
  keyedPredictionId,
  newPredictionId,
  openStream,
  type PredictionStub,
  predictionAt,
  predictionRowAt,
  type StreamOptions,
} from "../../objects/prediction/stub.ts";
import type { CreatePredictionOfVersion } from "../../protocol/prediction.ts";
import type { VendoraCall } from "../../protocol/runner.ts";
import { insertPrediction, projectPredictions } from "../../storage/predictions/predictions.ts";
import { getEnabledEndpoints } from "../../storage/webhooks/endpoint-cache.ts";
import type { Caller } from "../accounts/caller.ts";
import { requireQuota } from "../accounts/storage-quota.ts";
import type { Services } from "../services.ts";
import { checkWebhook, storedWebhook } from "../webhooks/webhooks.ts";
import { inputFiles } from "./input-files.ts";
import { predictionSpec } from "./prediction-spec.ts";
import { rememberLocation } from "./predictions.ts";
import { discardPrediction, storedInputOf, storeInput } from "./stored-input.ts";
import { type ResolvedVersion, resolveVersion } from "./version-resolution.ts";

export interface CreateOptions {
  /** Scheme and host that the request came to. */
  origin: string;
  validateInput: boolean;
  /** How long to wait for it to end. */
  waitSeconds: number;
  /** When it is canceled unless it has ended; null for never. */
  cancelAfterSeconds: number | null;
  idempotencyKey?: string | undefined;
  /**
   * Opens its event stream together with it. Ignored with an Idempotency-Key, whose prediction may
   * have begun long ago.
   */
  follow?: Follow;
  /** Called once the input is sent: from there on it only waits. */
  onInputSent?: (() => void) | undefined;
}

export type Follow = Omit<StreamOptions, "after">;

/** A request whose version has been found. */
export interface ResolvedRequest {
  /** The model's name as the caller wrote it. */
  reference: string;
  target: ResolvedVersion;
  call: VendoraCall | null;
  request: CreatePredictionOfVersion;
}

export interface CreatedPrediction {
  snapshot: Snapshot;
  stub: PredictionStub;
  /** All its events, when it is followed; undefined if they must be requested separately. */
  events?: ReadableStream<Uint8Array> | null | undefined;
  follow?: Follow | undefined;
}

const DAY_MS = 86_400_000;

/**
 * @throws ProblemError not_found, conflict (Idempotency-Key), too_many_requests, unavailable
 * @throws ValidationFailure for an input that does not fit the version's schema, or a webhook's URL
 */
export async function createPrediction(
  services: Services,
  caller: Caller,
  reference: string,
  request: CreatePredictionOfVersion,
  options: CreateOptions,
): Promise<CreatedPrediction> {
  checkRetention(services, request);
  const [target] = await Promise.all([
    resolveVersion(services, caller, reference),
    // Looked up in parallel and cached, so that a cold cache costs no extra time.
    getEnabledEndpoints(services.db, caller.user_id),
    requireQuota(services, caller.user_id),
  ]);
  const call = callOf(target.version, request.input);
  return createResolved(services, caller, { reference, target, call, request }, options);
}

/** As createPrediction, for a version that has been found. */
export async function createResolved(
  services: Services,
  caller: Caller,
  { reference, target, call, request }: ResolvedRequest,
  options: CreateOptions,
): Promise<CreatedPrediction> {
  const schema = versionSchema(target.version.schemas, "input");
  if (options.validateInput) validateInput(schema, request.input);
  const { origin, cancelAfterSeconds, idempotencyKey: key } = options;
  if (request.webhook) checkWebhook(services, request.webhook);
  const text = jsonText(request.input, ["body"]);
  const id = uuid();
  const [files, webhook, endpoints] = await Promise.all([
    inputFiles(services, caller, { schema, input: request.input, text, origin }),
    storedWebhook(services, id, request.webhook),
    getEnabledEndpoints(services.db, caller.user_id),
    requireQuota(services, caller.user_id),
  ]);
  // With the model's id: by the time it is repeated the reference may name another model.
  const hashed = [target.model.id, reference, request, ...(call === null ? [] : [call])];
  const requestHash = key === undefined ? null : await sha256(jsonText(hashed, ["body"]));
  const storedInput = storedInputOf(text);
  const details = {
    id,
    call,
    origin,
    cancelAfterSeconds,
    requestHash,
    files,
    storedInput,
    webhook,
    endpoints,
  };
  const spec = await predictionSpec(services, caller, target, request, details);
  const createRequest = { spec, input: text, wait_seconds: options.waitSeconds };
  return key === undefined
    ? createObject(services, createRequest, options)
    : createKeyed(services, createRequest, key, options);
}

/** @throws ValidationFailure */
function checkRetention({ settings }: Services, { retention_seconds }: CreatePredictionOfVersion) {
  const le = settings.retentionSeconds;
  if (retention_seconds === undefined || retention_seconds <= le) return;
  const place: Loc = ["body", "retention_seconds"];
  const issue = issueAt(place, fault("less_than_equal", { le }), retention_seconds);
  throw new ValidationFailure([issue]);
}

/** The row is written in parallel; the id is returned only when it has been. */
async function createObject(
  services: Services,
  request: CreateRequest,
  { follow, onInputSent }: Pick<CreateOptions, "follow" | "onInputSent">,
): Promise<CreatedPrediction> {
  const { env, db } = services;
  const { spec } = request;
  const objectId = newPredictionId(env);
  const row = initialRow(spec, objectId.toString());
  if (spec.stored_input) {
    await storeInput(services, row, request.input).catch(async (error) => {
      await discardPrediction(services, spec);
      throw unavailable(spec, error);
    });
  }
  const stub = predictionAt(env, objectId);
  const creating = stub.create(withoutStoredInput(request));
  onInputSent?.();
  // Sent right after it over the same connection, so that a caller who leaves is noticed from the start.
  const following = follow && openStream(stub, { after: 0, ...follow });
  const writing = insertPrediction(db, row).catch(async (error) => {
    // Without a row nobody can find it, so it must not run.
    await predictionAt(env, objectId).abandon();
    throw error;
  });
  const [created, written, followed] = await Promise.allSettled([creating, writing, following]);
  // The call may have created it and then broken off, as when a deploy restarts the object.
  const result =
    created.status === "fulfilled" ? created.value : await predictionAt(env, objectId).get();
  if (!result || "refused" in result) {
    if (written.status === "fulfilled") await discardPrediction(services, spec);
    if (result) throw refusalProblem(services, result.refused);
    throw unavailable(spec, created.status === "rejected" ? created.reason : created.value);
  }
  if (written.status === "rejected") throw unavailable(spec, written.reason);
  rememberLocation(row);
  const log = followed.status === "fulfilled" && followed.value?.ok ? followed.value : undefined;
  return {
    snapshot: result,
    stub: predictionAt(env, objectId),
    events: log?.body,
    follow,
  };
}

/** An input in R2 is not sent to the object. */
const withoutStoredInput = (request: CreateRequest): CreateRequest =>
  request.spec.stored_input ? { ...request, input: "" } : request;

/** Nothing is undone on an error: the same request with the same key finds what was created. */
async function createKeyed(
  services: Services,
  request: CreateRequest,
  key: string,
  { onInputSent }: Pick<CreateOptions, "onInputSent">,
): Promise<CreatedPrediction> {
  const { spec, wait_seconds } = request;
  const found = await findOrCreate(services, request, key).catch((error) => {
    throw unavailable(
      spec,
      error,
      "It may have been created: try again with the same Idempotency-Key.",
    );
  });
  const { stub, objectId, created } = found;
  onInputSent?.();
  if ("refused" in created) throw refusalProblem(services, created.refused);
  rememberLocation({ ...initialRow(spec, objectId), id: created.id });
  const waiting = wait_seconds > 0 && !created.terminal;
  const snapshot = waiting ? await stub.waitForEnd(wait_seconds).catch(() => undefined) : created;
  return { snapshot: snapshot ?? created, stub };
}

/**
 * With an Idempotency-Key the object is named by user, day and key. A key is valid for 24 h: it may
 * have been used first today or yesterday, so yesterday's object is asked first.
 */
async function findOrCreate(services: Services, request: CreateRequest, key: string) {
  const { env, db } = services;
  const { spec } = request;
  const day = Math.floor(spec.created_at / DAY_MS);
  const idOn = (date: number) => keyedPredictionId(env, `${spec.user_id}:${date}:${key}`);
  let id = idOn(day - 1);
  let stub = predictionAt(env, id);
  let created: CreateResult | undefined = await stub.repeatCreate(
    spec.request_hash,
    spec.created_at - DAY_MS,
  );
  if (!created) {
    id = idOn(day);
    stub = predictionAt(env, id);
    if (spec.stored_input) {
      created = await stub.repeatCreate(spec.request_hash, 0);
      if (!created) await storeInput(services, initialRow(spec, id.toString()), request.input);
    }
    created ??= await stub.create({ ...withoutStoredInput(request), wait_seconds: 0 });
    const isNew = "id" in created && created.id === spec.id;
    if (spec.stored_input && !isNew) await discardPrediction(services, spec);
  }
  const objectId = id.toString();
  if ("refused" in created) return { stub, objectId, created };
  // The call that created it may have failed before its row was written.
  const row = created.id === spec.id ? initialRow(spec, objectId) : await predictionRowAt(stub);
  if (row) await projectPredictions(db, [row]);
  return { stub, objectId, created };
}

function refusalProblem({ settings }: Services, reason: "conflict" | "full"): ProblemError {
  if (reason === "conflict") {
    return new ProblemError(
      "conflict",
      "This Idempotency-Key was used with a different request in the last 24 hours. Use a new key for each request.",
    );
  }
  return new ProblemError(
    "too_many_requests",
    `You have ${settings.maxWaiting} predictions waiting for this hardware. Wait until some have run.`,
    { "retry-after": "10" },
  );
}

function unavailable(
  { id, user_id }: PredictionSpec,
  reason: unknown,
  detail = "The prediction could not be created and will not run. Try again.",
): ProblemError {
  logger.error("Prediction not created", { prediction_id: id, user_id, error: reason });
  return new ProblemError("unavailable", detail, { "retry-after": "1" });
}

/** The row of a new prediction, which has only its first event. */
const initialRow = (spec: PredictionSpec, objectId: string) =>
  predictionRow(spec, initialState(spec), objectId, 1);
