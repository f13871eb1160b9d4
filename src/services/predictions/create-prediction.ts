/** Creating predictions: the object and its row, side by side, once per Idempotency-Key. */
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
import { notePlace } from "./predictions.ts";
import { discard, storedInputOf, storeInput } from "./stored-input.ts";
import { findTarget, type ResolvedVersion } from "./version-resolution.ts";

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

/** What is to run. */
export interface Order {
  /** The model's name as the caller wrote it. */
  reference: string;
  target: ResolvedVersion;
  call: VendoraCall | null;
  request: CreatePredictionOfVersion;
}

export interface Created {
  snapshot: Snapshot;
  stub: PredictionStub;
  /** All its events, when it is followed; undefined if they must be requested separately. */
  events?: ReadableStream<Uint8Array> | null | undefined;
  follow?: Follow | undefined;
}

const DAY_MS = 86_400_000;

/**
 * @throws ProblemError not_found, conflict (Idempotency-Key), too_many_requests, unavailable
 * @throws ValidationFailure for an input that the version's schema refuses, and a webhook's address
 */
export async function createPrediction(
  services: Services,
  caller: Caller,
  reference: string,
  request: CreatePredictionOfVersion,
  options: CreateOptions,
): Promise<Created> {
  checkRetention(services, request);
  const [target] = await Promise.all([
    findTarget(services, caller, reference),
    // Looked up beside it, and cached: where nothing is known yet it costs no time of its own.
    getEnabledEndpoints(services.db, caller.user_id),
    requireQuota(services, caller.user_id),
  ]);
  const call = callOf(target.version, request.input);
  return createOrdered(services, caller, { reference, target, call, request }, options);
}

/** As createPrediction, for a version that is found. */
export async function createOrdered(
  services: Services,
  caller: Caller,
  { reference, target, call, request }: Order,
  options: CreateOptions,
): Promise<Created> {
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
  // A reference may be another model's by the time that it comes again.
  const of = [target.model.id, reference, request];
  const asked = call === null ? of : [...of, call];
  const requestHash = key === undefined ? null : await sha256(jsonText(asked, ["body"]));
  const storedInput = storedInputOf(text);
  const found = { files, storedInput, webhook, endpoints };
  const circumstances = { id, call, origin, cancelAfterSeconds, requestHash, ...found };
  const spec = await predictionSpec(services, caller, target, request, circumstances);
  const beginning = { spec, input: text, wait_seconds: options.waitSeconds };
  return key === undefined
    ? begin(services, beginning, options)
    : beginOnce(services, beginning, key, options);
}

/** @throws ValidationFailure */
function checkRetention({ settings }: Services, { retention_seconds }: CreatePredictionOfVersion) {
  const le = settings.retentionSeconds;
  if (retention_seconds === undefined || retention_seconds <= le) return;
  const place: Loc = ["body", "retention_seconds"];
  const issue = issueAt(place, fault("less_than_equal", { le }), retention_seconds);
  throw new ValidationFailure([issue]);
}

/** The row is written beside the work, not before it; the id leaves only when the row is there. */
async function begin(
  services: Services,
  request: CreateRequest,
  { follow, onInputSent }: Pick<CreateOptions, "follow" | "onInputSent">,
): Promise<Created> {
  const { env, db } = services;
  const { spec } = request;
  const objectId = newPredictionId(env);
  const row = rowOf(spec, objectId.toString());
  if (spec.stored_input) {
    await storeInput(services, row, request.input).catch(async (error) => {
      await discard(services, spec);
      throw unavailable(spec, error);
    });
  }
  const stub = predictionAt(env, objectId);
  const creating = stub.create(carried(request));
  onInputSent?.();
  // Right behind it, on the same way: it is known from the beginning when whoever asked has gone.
  const following = follow && openStream(stub, { after: 0, ...follow });
  const writing = insertPrediction(db, row).catch(async (error) => {
    // Without a row nobody could find it: it must not run.
    await predictionAt(env, objectId).abandon();
    throw error;
  });
  const [created, written, followed] = await Promise.allSettled([creating, writing, following]);
  // A call that broke off, as a deploy ends one that waits, may have begun it: the object knows.
  const answer =
    created.status === "fulfilled" ? created.value : await predictionAt(env, objectId).get();
  if (!answer || "refused" in answer) {
    if (written.status === "fulfilled") await discard(services, spec);
    if (answer) throw refusal(services, answer.refused);
    throw unavailable(spec, created.status === "rejected" ? created.reason : created.value);
  }
  if (written.status === "rejected") throw unavailable(spec, written.reason);
  notePlace(row);
  const log = followed.status === "fulfilled" && followed.value?.ok ? followed.value : undefined;
  return {
    snapshot: answer,
    stub: predictionAt(env, objectId),
    events: log?.body,
    follow,
  };
}

/** What lies in R2 need not travel. */
const carried = (request: CreateRequest): CreateRequest =>
  request.spec.stored_input ? { ...request, input: "" } : request;

/** What has begun comes again with the same key: nothing is taken back when something breaks. */
async function beginOnce(
  services: Services,
  request: CreateRequest,
  key: string,
  { onInputSent }: Pick<CreateOptions, "onInputSent">,
): Promise<Created> {
  const { spec, wait_seconds } = request;
  const begun = await findOrBegin(services, request, key).catch((error) => {
    throw unavailable(spec, error, "Try again with the same Idempotency-Key: it may have begun.");
  });
  const { stub, objectId, created } = begun;
  onInputSent?.();
  if ("refused" in created) throw refusal(services, created.refused);
  notePlace({ ...rowOf(spec, objectId), id: created.id });
  const waiting = wait_seconds > 0 && !created.terminal;
  const snapshot = waiting ? await stub.waitForEnd(wait_seconds).catch(() => undefined) : created;
  return { snapshot: snapshot ?? created, stub };
}

/**
 * With an Idempotency-Key the object's name is made of account, day and key. A key is cached
 * for 24 h: it can have been used first today or yesterday, so yesterday's object is asked first.
 */
async function findOrBegin(services: Services, request: CreateRequest, key: string) {
  const { env, db } = services;
  const { spec } = request;
  const day = Math.floor(spec.created_at / DAY_MS);
  const idOf = (of: number) => keyedPredictionId(env, `${spec.user_id}:${of}:${key}`);
  let id = idOf(day - 1);
  let stub = predictionAt(env, id);
  let created: CreateResult | undefined = await stub.repeatCreate(
    spec.request_hash,
    spec.created_at - DAY_MS,
  );
  if (!created) {
    id = idOf(day);
    stub = predictionAt(env, id);
    if (spec.stored_input) {
      created = await stub.repeatCreate(spec.request_hash, 0);
      if (!created) await storeInput(services, rowOf(spec, id.toString()), request.input);
    }
    created ??= await stub.create({ ...carried(request), wait_seconds: 0 });
    const begun = "id" in created && created.id === spec.id;
    if (spec.stored_input && !begun) await discard(services, spec);
  }
  const objectId = id.toString();
  if ("refused" in created) return { stub, objectId, created };
  // The call that began it may have died before its row was written.
  const row = created.id === spec.id ? rowOf(spec, objectId) : await predictionRowAt(stub);
  if (row) await projectPredictions(db, [row]);
  return { stub, objectId, created };
}

function refusal({ settings }: Services, reason: "conflict" | "full"): ProblemError {
  if (reason === "conflict") {
    return new ProblemError(
      "conflict",
      "This Idempotency-Key was used with another request in the last 24 hours. Give each request one of its own.",
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
  detail = "The prediction could not be created, and will not run. Try again.",
): ProblemError {
  logger.error("Prediction not created", { prediction_id: id, user_id, error: reason });
  return new ProblemError("unavailable", detail, { "retry-after": "1" });
}

/** The row of a prediction that has only just begun: event 1 is all there is. */
const rowOf = (spec: PredictionSpec, objectId: string) =>
  predictionRow(spec, initialState(spec), objectId, 1);
