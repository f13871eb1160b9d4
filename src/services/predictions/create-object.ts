/** Creates a prediction without an Idempotency-Key: its object and its row in parallel. */

import { initialRow } from "../../domain/predictions/prediction-row.ts";
import type { CreateRequest } from "../../objects/prediction/rpc-types.ts";
import { newPredictionId, openStream, predictionAt } from "../../objects/prediction/stub.ts";
import { insertPrediction } from "../../storage/predictions/predictions.ts";
import type { Services } from "../services.ts";
import { refusalProblem, unavailable } from "./create-problems.ts";
import type { CreatedPrediction, CreateOptions } from "./creation.ts";
import { rememberLocation } from "./predictions.ts";
import { discardPrediction, storeInput, withoutStoredInput } from "./stored-input.ts";

/** The row is written in parallel; the id is returned only when it has been. */
export async function createObject(
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
