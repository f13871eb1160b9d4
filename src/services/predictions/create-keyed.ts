/** Creates a prediction once per Idempotency-Key. */
import { initialRow } from "../../domain/predictions/prediction-row.ts";
import type { CreateRequest, CreateResult } from "../../objects/prediction/rpc-types.ts";
import {
  keyedPredictionId,
  predictionAt,
  predictionRowAt,
  renewed,
} from "../../objects/prediction/stub.ts";
import { projectPredictions } from "../../storage/predictions/predictions.ts";
import type { Services } from "../services.ts";
import { refusalProblem, unavailable } from "./create-problems.ts";
import type { CreatedPrediction, CreateOptions } from "./creation.ts";
import { rememberLocation } from "./predictions.ts";
import { discardPrediction, storeInput, withoutStoredInput } from "./stored-input.ts";

const DAY_MS = 86_400_000;

/** Nothing is undone on an error: the same request with the same key finds what was created. */
export async function createKeyed(
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
  const { id, created_at } = created;
  if (wait_seconds === 0 || created.terminal) return { id, created_at, stub, snapshot: created };
  const waiting = renewed(services.env, stub, wait_seconds).waitForEnd(wait_seconds);
  const snapshot = (await waiting.catch(() => undefined)) ?? created;
  return { id, created_at, stub, snapshot };
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
