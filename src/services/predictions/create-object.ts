/** Creates the object of a prediction, which writes its row and claims its Idempotency-Key. */

import type { PredictionSpec, StoredWebhook } from "../../domain/predictions/state.ts";
import { ProblemError } from "../../errors/errors.ts";
import type { JsonSource } from "../../lib/json-text.ts";
import { TimedOut } from "../../lib/timeout.ts";
import { logger } from "../../log.ts";
import { accountAt } from "../../objects/stubs/account.ts";
import {
  type CreateRequest,
  type CreateResult,
  createAndFollow,
  newPredictionId,
  type PredictionStub,
  predictionAt,
  predictionWithId,
  type Refusal,
  renewed,
  SNAPSHOT_CHARS,
  type Snapshot,
  type StreamOptions,
} from "../../objects/stubs/prediction.ts";
import { withinWriteLimit } from "../access/write-limit.ts";
import type { Services } from "../services.ts";
import { refusedReader } from "./event-log.ts";
import type { InlineFiles } from "./inline-files.ts";
import { type PredictionText, predictionText } from "./prediction-text.ts";
import { rememberLocation } from "./predictions.ts";
import { refusedProblem } from "./reservation.ts";
import { bytesSent, discardPrediction, type InputParts, storeInput } from "./stored-input.ts";

/**
 * The largest input, as JSON text, that the Worker and the object hold while the caller waits for the end.
 */
const HELD_CHARS = 16 * 1024;

/** Objects tried at most: if two die one after the other, there is a reason. */
const MAX_OBJECTS = 2;

type ObjectOptions = Pick<CreateOptions, "follow" | "onInputSent"> & {
  /** The parts of the input that are stored in R2. */
  parts?: InputParts | undefined;
};

/**
 * Creates a prediction and waits for its end, in one call to its object. A prediction with a large input is
 * created first: a call under way holds its arguments, on both sides.
 */
export function createObject(
  services: Services,
  request: CreateRequest,
  options: ObjectOptions,
): Promise<CreatedPrediction> {
  const { wait_seconds, input } = request;
  if (wait_seconds === 0 || (input.length <= HELD_CHARS && !options.parts))
    return create(services, request, options);
  return create(services, { ...request, wait_seconds: 0 }, options).then((created) =>
    ended(services, created, wait_seconds),
  );
}

/** Returns the prediction once it has ended, or after this time. */
async function ended(
  services: Services,
  created: CreatedPrediction,
  seconds: number,
): Promise<CreatedPrediction> {
  const { stub, snapshot } = created;
  if (seconds === 0 || !snapshot || snapshot.terminal) return created;
  const waiting = renewed(services.env, stub, seconds).waitForEnd(seconds, SNAPSHOT_CHARS);
  return { ...created, snapshot: (await waiting.catch(() => undefined)) ?? snapshot };
}

/**
 * Creates the object, which answers once its row is written, so that any reader with the id finds it. Only a
 * short run (domain/predictions/state.ts) may be answered before.
 */
async function create(
  services: Services,
  request: CreateRequest,
  options: ObjectOptions,
): Promise<CreatedPrediction> {
  const { env } = services;
  const { spec } = request;
  const { parts, onInputSent } = options;
  // A prediction with an Idempotency-Key may have begun long ago.
  const follow = spec.claim ? undefined : options.follow;
  const objectId = newPredictionId(env);
  const discard = () => discardPrediction(services, spec, objectId.toString());
  if (parts) {
    const known = spec.claim && (await accountAt(env, spec.account_object).keyHolder(spec.claim));
    if (known === "conflict") throw refusalProblem(services, spec, "conflict");
    if (known) return findTaken(services, request, known.object_id, onInputSent);
    const cost = { rows: 0, bytes: bytesSent(parts) };
    await withinWriteLimit(services, spec.user_id, cost, (metered) =>
      storeInput(metered, spec, objectId.toString(), parts).catch(async (error) => {
        await discard();
        throw error instanceof ProblemError ? error : unavailable(spec, error);
      }),
    );
  }
  const stub = predictionAt(env, objectId, request.wait_seconds);
  const creating = follow ? createFollowed(services, stub, request, follow) : stub.create(request);
  onInputSent?.();
  let failure: unknown;
  const result = await creating.catch(async (error) => {
    failure = error;
    const confirming = predictionAt(env, objectId).confirm(SNAPSHOT_CHARS);
    return await confirming.catch((error) => {
      // The prediction's row stays: the account finds out whether the prediction exists.
      throw unavailable(spec, error, spec.claim ? REPEATABLE : UNKNOWN);
    });
  });
  // The object died before it stored anything, as when a deploy restarts it: another object begins.
  const brokeOff = !result && !(failure instanceof TimedOut);
  if (brokeOff && spec.object_number < MAX_OBJECTS && !parts)
    return create(services, withNextObject(request), { follow });
  if (result && "taken" in result) {
    if (parts) await discard();
    return findTaken(services, request, result.taken, onInputSent);
  }
  if (!result || "refused" in result || "problem" in result) {
    await discard();
    if (!result) throw unavailable(spec, failure);
    throw "problem" in result ? result.problem : refusalProblem(services, spec, result.refused);
  }
  const { id, created_at } = spec;
  rememberLocation({ ...spec, object_id: objectId.toString() });
  const answer = "events" in result ? result : { snapshot: result };
  return { id, created_at, stub: predictionAt(env, objectId), follow, ...answer };
}

const withNextObject = ({ spec, ...rest }: CreateRequest): CreateRequest => ({
  ...rest,
  spec: { ...spec, object_number: spec.object_number + 1 },
});

type Followed = { events: ReadableStream<Uint8Array> | null } | { problem: ProblemError };
type Outcome = CreateResult | Followed | undefined;

async function createFollowed(
  services: Services,
  stub: PredictionStub,
  request: CreateRequest,
  follow: Follow,
): Promise<Outcome> {
  const response = await createAndFollow(stub, request, follow);
  if (response.ok) return { events: response.body };
  if (response.status === 409) {
    const reason = await response.json<Refusal>();
    return { problem: refusalProblem(services, request.spec, reason) };
  }
  return { problem: await refusedReader(services, response) };
}

/** The prediction that was created with the same Idempotency-Key before. */
async function findTaken(
  services: Services,
  { spec, wait_seconds }: CreateRequest,
  objectId: string,
  onInputSent: CreateOptions["onInputSent"],
): Promise<CreatedPrediction> {
  onInputSent?.();
  const stub = predictionWithId(services.env, objectId);
  const snapshot = await stub?.get(SNAPSHOT_CHARS);
  if (!stub || !snapshot) throw unavailable(spec, "the prediction of its key is gone", REPEATABLE);
  const { id, created_at } = snapshot;
  rememberLocation({ ...spec, id, object_id: objectId });
  return ended(services, { id, created_at, stub, snapshot }, wait_seconds);
}

const REPEATABLE = "It may have been created. Try again with the same Idempotency-Key.";
const UNKNOWN = "The prediction may have been created. Check GET /v1/predictions in a few minutes.";

function refusalProblem(
  { settings }: Services,
  spec: PredictionSpec,
  reason: Refusal,
): ProblemError {
  if (reason === "unavailable") return unavailable(spec, "its row was not written");
  if (typeof reason === "object") return refusedProblem(reason, settings.currency, spec);
  if (reason === "conflict") {
    return new ProblemError(
      "conflict",
      "This Idempotency-Key was used with a different request in the last 24 hours. Use a new key for each request.",
    );
  }
  return new ProblemError(
    "too_many_requests",
    `You have ${settings.maxWaiting} predictions queued for this hardware. Wait for some to start.`,
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

export interface CreateOptions {
  /** Scheme and host that the request came to. */
  origin: string;
  /** The API that the request came to, if its webhook has another shape than ours. */
  api?: StoredWebhook["api"];
  /** Whether the prediction starts a container of its deployment, which is told of its end. */
  starts?: true;
  /** Whether the reference must name a deployment. */
  ofDeployment?: boolean;
  /** The prediction's id, if it must be known before. Files that were sent have one already (`sent`). */
  id?: string | undefined;
  validateInput: boolean;
  waitSeconds: number;
  /** When the prediction is canceled unless it has ended; null: never. */
  cancelAfterSeconds: number | null;
  idempotencyKey?: string | undefined;
  /**
   * Opens the event stream together with the prediction. Ignored with an Idempotency-Key, whose prediction
   * may have begun long ago.
   */
  follow?: Follow;
  /** Files that came with the request: its input has their addresses. */
  sent?: InlineFiles | undefined;
  /**
   * The text that the input was made from, as it was sent: the stored input keeps its numbers and the order
   * of its names.
   */
  source?: JsonSource | undefined;
  /** Whether the prediction only starts a container for a capacity claim; its input is not checked. */
  warmUp?: true;
  /** Called once the input is sent: from then on the request only waits. */
  onInputSent?: (() => void) | undefined;
}

export type Follow = Omit<StreamOptions, "after">;

export interface CreatedPrediction extends Pick<Snapshot, "id" | "created_at"> {
  stub: PredictionStub;
  /** The prediction. Undefined when it is followed: its events contain everything. */
  snapshot?: Snapshot;
  /** All events of a prediction that is followed; undefined if they must be requested separately. */
  events?: ReadableStream<Uint8Array> | null | undefined;
  follow?: Follow | undefined;
}

/** Returns the prediction in full. @throws Error when it has been deleted meanwhile */
export async function snapshotOf(created: CreatedPrediction): Promise<Snapshot> {
  const found = created.snapshot ?? (await created.stub.get(SNAPSHOT_CHARS));
  if (!found) throw gone(created);
  return found;
}

export const gone = ({ id }: CreatedPrediction) => new Error(`the prediction ${id} is gone`);

/**
 * Returns the prediction as its create returns it.
 * @throws ProblemError too_many_requests; Error when it has been deleted meanwhile
 */
export async function createdText(
  services: Services,
  created: CreatedPrediction,
): Promise<PredictionText & Pick<Snapshot, "terminal" | "status">> {
  const snapshot = await snapshotOf(created);
  const text = await predictionText(services, created.stub, snapshot);
  if (!text) throw gone(created);
  const { terminal, status } = snapshot;
  return { ...text, terminal, status };
}
