/** Predictions: create, read, list, cancel, stream. */
import type { PredictionSpec } from "../domain/prediction.ts";
import type { Preference } from "../domain/prefer.ts";
import { secondsText } from "../domain/resource.ts";
import { sha256 } from "../domain/secret.ts";
import { validateInput } from "../domain/validation.ts";
import { notFound, ProblemError } from "../errors.ts";
import type { CreateRequest, CreateResult } from "../objects/prediction/object.ts";
import type { Snapshot } from "../objects/prediction/record.ts";
import {
  keyedPredictionId,
  newPredictionId,
  openStream,
  type PredictionStub,
  predictionAt,
  predictionWithId,
  projectionAt,
} from "../objects/prediction/stub.ts";
import type {
  CreatePredictionOfVersion,
  Prediction,
  PredictionWithIO,
  TaskStatus,
} from "../protocol/prediction.ts";
import type { ProjectionMessage } from "../protocol/queue.ts";
import {
  deletePrediction,
  findPrediction,
  insertPrediction,
  listPredictions,
  type PredictionRow,
  projectPredictions,
} from "../storage/predictions.ts";
import { immutable } from "./cache.ts";
import { findTarget } from "./catalogue.ts";
import { type PageRequest, page } from "./pages.ts";
import type { Services } from "./services.ts";
import { specOf } from "./spec.ts";
import type { Caller } from "./tokens.ts";

export interface CreateOptions {
  /** Scheme and host that the request came to. */
  origin: string;
  validateInput: boolean;
  prefer: Preference;
  idempotencyKey?: string;
}

export interface Created {
  snapshot: Snapshot;
  stub: PredictionStub;
}

const DAY_MS = 86_400_000;

/** Where predictions live, by `user:id`. They never move. */
const places = immutable<string>(50_000);

/**
 * @throws ProblemError not_found, conflict (Idempotency-Key), too_many_requests, unavailable
 * @throws ValidationFailure for an input that the version's schema refuses
 */
export async function createPrediction(
  services: Services,
  caller: Caller,
  reference: string,
  request: CreatePredictionOfVersion,
  options: CreateOptions,
): Promise<Created> {
  const target = await findTarget(services, caller, reference);
  if (options.validateInput) validateInput(target.version.schemas.prediction.input, request.input);
  const key = options.idempotencyKey;
  const requestHash = key === undefined ? null : await sha256(JSON.stringify([reference, request]));
  const spec = specOf(services, caller, target, request, { ...options, requestHash });
  const input = JSON.stringify(request.input);
  const wait = request.stream ? 0 : (options.prefer.wait ?? 0) * 1000;
  return key === undefined
    ? begin(services, { spec, input, wait })
    : beginOnce(services, { spec, input, wait }, key);
}

/** The row is written beside the work, not before it; the id leaves only when the row is there. */
async function begin(services: Services, request: CreateRequest): Promise<Created> {
  const { env, db } = services;
  const { spec } = request;
  const objectId = newPredictionId(env);
  const stub = predictionAt(env, objectId);
  const creating = stub.create(request);
  const writing = insertPrediction(db, rowOf(spec, objectId.toString())).catch(async (error) => {
    // Without a row nobody could find it: it must not run.
    await stub.cancel();
    throw error;
  });
  const [created, written] = await Promise.allSettled([creating, writing]);
  const answer = created.status === "fulfilled" ? created.value : undefined;
  if (!answer || "refused" in answer) {
    if (written.status === "fulfilled") await deletePrediction(db, spec.account_id, spec.id);
    throw answer ? refusal(services, answer.refused) : unavailable(created);
  }
  if (written.status === "rejected") throw unavailable(written.reason);
  places.set(`${spec.account_id}:${spec.id}`, objectId.toString());
  return { snapshot: answer, stub };
}

/**
 * With an Idempotency-Key the object's name is made of account, day and key. A key is remembered
 * for 24 h: it can have been used first today or yesterday, so yesterday's object is asked first.
 */
async function beginOnce(
  services: Services,
  request: CreateRequest,
  key: string,
): Promise<Created> {
  const { env, db } = services;
  const { spec, wait } = request;
  const day = Math.floor(spec.created_at / DAY_MS);
  const idOf = (of: number) => keyedPredictionId(env, `${spec.account_id}:${of}:${key}`);
  let objectId = idOf(day - 1);
  let stub = predictionAt(env, objectId);
  let created: CreateResult | undefined = await stub.repeat(
    spec.request_hash,
    spec.created_at - DAY_MS,
  );
  if (!created) {
    objectId = idOf(day);
    stub = predictionAt(env, objectId);
    created = await stub.create({ ...request, wait: 0 });
  }
  if ("refused" in created) throw refusal(services, created.refused);
  try {
    if (created.id === spec.id) await insertPrediction(db, rowOf(spec, objectId.toString()));
    else {
      // The first call may have died before its row was written.
      const row = await projectionAt(stub);
      if (row) await projectPredictions(db, [row]);
    }
  } catch (error) {
    // It goes on: the caller's next try with this key finds it.
    throw unavailable(error);
  }
  places.set(`${spec.account_id}:${created.id}`, objectId.toString());
  const snapshot = wait > 0 && !created.terminal ? await stub.wait(wait) : created;
  return { snapshot: snapshot ?? created, stub };
}

/** The full prediction, as JSON text. @throws ProblemError not_found */
export async function getPrediction(
  services: Services,
  caller: Caller,
  id: string,
  origin: string,
): Promise<string> {
  const snapshot = await (await placeOf(services, caller, id)).get();
  if (snapshot) return snapshot.body;
  const row = await findPrediction(services.db, caller.user_id, id);
  if (!row) throw notFound(`The prediction '${id}'`);
  const removed: PredictionWithIO = {
    ...presentRow(row, origin),
    input: null,
    output: null,
    data_removed: true,
  };
  return JSON.stringify(removed);
}

export function listOwnPredictions(
  { db }: Services,
  caller: Caller,
  statuses: TaskStatus[],
  request: Omit<PageRequest, "list">,
) {
  const wanted = [...new Set(statuses)].sort();
  return page(
    { ...request, list: `predictions?${wanted.join(",")}` },
    ({ after, before, limit }) =>
      listPredictions(db, {
        userId: caller.user_id,
        statuses: wanted,
        ...(after && { older: after }),
        ...(before && { newer: before }),
        limit,
      }),
    (row) => presentRow(row, new URL(request.url).origin),
  );
}

/** @throws ProblemError not_found, conflict when it has ended */
export async function cancelPrediction(
  services: Services,
  caller: Caller,
  id: string,
): Promise<void> {
  const result = await (await placeOf(services, caller, id)).cancel();
  if (result !== "accepted") {
    throw new ProblemError(
      "conflict",
      "The prediction has ended already: there is nothing to cancel.",
    );
  }
}

/** @throws ProblemError not_found, also when retention has removed the log */
export async function streamPrediction(
  services: Services,
  caller: Caller,
  id: string,
  after: number,
  idle: number | undefined,
): Promise<Response> {
  const response = await openStream(await placeOf(services, caller, id), after, idle);
  if (response.status === 404) throw notFound(`The event log of '${id}' is no longer kept. It`);
  return response;
}

async function placeOf({ env, db }: Services, caller: Caller, id: string): Promise<PredictionStub> {
  const key = `${caller.user_id}:${id}`;
  let objectId = places.get(key);
  if (objectId === undefined) {
    objectId = (await findPrediction(db, caller.user_id, id))?.object_id;
    if (objectId === undefined) throw notFound(`The prediction '${id}'`);
    places.set(key, objectId);
  }
  const stub = predictionWithId(env, objectId);
  if (!stub) throw new Error(`row ${id} names no object of this deployment`);
  return stub;
}

function refusal({ settings }: Services, reason: "conflict" | "full"): ProblemError {
  if (reason === "conflict") {
    return new ProblemError(
      "conflict",
      "This Idempotency-Key was used with another request in the last 24 hours.",
    );
  }
  return new ProblemError(
    "too_many_requests",
    `You have ${settings.maxWaiting} predictions waiting for this hardware. Wait until some have run.`,
    { "retry-after": "10" },
  );
}

function unavailable(reason: unknown): ProblemError {
  console.error("prediction not created", { error: String(reason) });
  return new ProblemError(
    "unavailable",
    "The prediction could not be created, and will not run. Try again.",
    {
      "retry-after": "1",
    },
  );
}

/** The row of a prediction that has only just begun. */
const rowOf = (spec: PredictionSpec, objectId: string): ProjectionMessage => ({
  id: spec.id,
  object_id: objectId,
  user_id: spec.account_id,
  model_id: spec.model_id,
  model_owner: spec.model.owner,
  model_name: spec.model.name,
  version_number: spec.model.version_number,
  stream: spec.stream,
  status: "pending",
  created_at: spec.created_at,
  updated_at: spec.created_at,
  setup_time: null,
  execution_time: null,
  error: null,
  metrics: null,
  data_removed: false,
  revision: 1,
});

function presentRow(row: PredictionRow, origin: string): Prediction {
  return {
    id: row.id,
    model: { owner: row.model_owner, name: row.model_name, version_number: row.version_number },
    created_at: new Date(row.created_at).toISOString(),
    updated_at: new Date(row.updated_at).toISOString(),
    status: row.status,
    setup_time: secondsText(row.setup_time),
    execution_time: secondsText(row.execution_time),
    error: row.error,
    metrics: row.metrics,
    url: `${origin}/v1/predictions/${row.id}`,
    stream: row.stream,
  };
}
