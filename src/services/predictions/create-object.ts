/** Creates a prediction without an Idempotency-Key: its object, and its row beside it. */
import { waitUntil } from "cloudflare:workers";
import { initialRow } from "../../domain/predictions/prediction-row.ts";
import { SHORT_RUN_MS } from "../../domain/predictions/short-run.ts";
import type { ProblemError } from "../../errors.ts";
import { settlesWithin } from "../../lib/timeout.ts";
import {
  type CreateRequest,
  type CreateResult,
  refusal,
  type Snapshot,
} from "../../objects/prediction/rpc-types.ts";
import {
  createAndFollow,
  newPredictionId,
  type PredictionStub,
  predictionAt,
} from "../../objects/prediction/stub.ts";
import { insertPrediction } from "../../storage/predictions/predictions.ts";
import type { Services } from "../services.ts";
import { refusalProblem, unavailable } from "./create-problems.ts";
import type { CreatedPrediction, CreateOptions, Follow } from "./creation.ts";
import { refusedReader } from "./event-log.ts";
import { rememberLocation } from "./predictions.ts";
import { discardPrediction, storeInput, withoutStoredInput } from "./stored-input.ts";

/**
 * The row is written in parallel; the id is returned only when it has been. Only a short run
 * (domain/predictions/short-run.ts) is returned without a row: its object writes it.
 */
export async function createObject(
  services: Services,
  request: CreateRequest,
  { follow, onInputSent }: Pick<CreateOptions, "follow" | "onInputSent">,
  tries = 2,
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
  const stub = predictionAt(env, objectId, request.wait_seconds);
  const sent = withoutStoredInput(request);
  const creating = follow ? createFollowed(services, stub, sent, follow) : stub.create(sent);
  onInputSent?.();
  let brokeOff = false;
  const writing = writeRow();
  // A caller who leaves takes the request along, and what goes on would have no row.
  waitUntil(writing.catch(() => {}));
  const [created, written] = await Promise.allSettled([creating, writing]);
  const result =
    created.status === "fulfilled"
      ? created.value
      : await findOrAbandon(predictionAt(env, objectId)).catch((error) => {
          // Its row stays: the sweep finds out what has become of it.
          throw unavailable(spec, error, UNKNOWN);
        });
  if (!result || result === "abandoned" || "refused" in result || "problem" in result) {
    if (written.status === "fulfilled" && written.value) await discardPrediction(services, spec);
    // Its object has died before it stored anything, as when a deploy restarts it: another one begins.
    if (!result && brokeOff && tries > 1) return createObject(services, request, {}, tries - 1);
    if (typeof result === "object")
      throw "problem" in result ? result.problem : refusalProblem(services, result.refused);
    throw unavailable(spec, created.status === "rejected" ? created.reason : created.value);
  }
  if (written.status === "rejected") throw unavailable(spec, written.reason);
  rememberLocation(row);
  const { id, created_at } = spec;
  const answer = "events" in result ? result : { snapshot: result };
  return { id, created_at, stub: predictionAt(env, objectId), follow, ...answer };

  /** @returns whether it needs one */
  async function writeRow(): Promise<boolean> {
    const outcome = spec.row_held ? await outcomeSoon(creating) : "lasts";
    if (outcome === "over") return false;
    brokeOff = outcome === "broke off";
    try {
      await insertPrediction(db, row);
    } catch (error) {
      // Without a row nobody can find it, so it must not run.
      await predictionAt(env, objectId).abandon();
      throw error;
    }
    return true;
  }
}

/** What the call to its object has come to. */
type Outcome = CreateResult | Followed;
type Followed = { events: ReadableStream<Uint8Array> | null } | { problem: ProblemError };

async function createFollowed(
  services: Services,
  stub: PredictionStub,
  request: CreateRequest,
  follow: Follow,
): Promise<Followed> {
  const response = await createAndFollow(stub, request, follow);
  if (response.ok) return { events: response.body };
  if (response.status === 409)
    return { problem: refusalProblem(services, refusal.parse(await response.text())) };
  return { problem: await refusedReader(services, response) };
}

const UNKNOWN =
  "The prediction may have been created: GET /v1/predictions lists it within some minutes.";

/**
 * The prediction of a create that was not answered: the call may have created it and then broken off,
 * as when a deploy restarts the object. What it still creates is canceled: nobody was given its id.
 */
async function findOrAbandon(stub: PredictionStub): Promise<Snapshot | "abandoned" | undefined> {
  const found = await stub.get();
  if (found) return found;
  return (await stub.abandon()) ? "abandoned" : undefined;
}

/**
 * What has become of a short run: it is over if it was refused, or has ended with nothing of it in R2.
 * One that broke off may have been created.
 */
async function outcomeSoon(creating: Promise<Outcome>): Promise<"over" | "lasts" | "broke off"> {
  try {
    if (!(await settlesWithin(creating, SHORT_RUN_MS))) return "lasts";
    const result = await creating;
    const isOver =
      "refused" in result || ("terminal" in result && result.terminal && !result.stored);
    return isOver ? "over" : "lasts";
  } catch {
    return "broke off";
  }
}
