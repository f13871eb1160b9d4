/**
 * The reason why a prediction does not run yet: asks the prediction, and once its pool, which may be slow or
 * gone.
 */
import { accessToModel, type Principal } from "../../domain/accounts/access.ts";
import { REMOTE_HARDWARE } from "../../domain/models/remote.ts";
import {
  explanationOf,
  explanationOfRow,
  isWaiting,
  type Viewer,
} from "../../domain/predictions/explanation.ts";
import type { PredictionRow } from "../../domain/predictions/prediction-row.ts";
import type { RunFacts } from "../../domain/predictions/timeline.ts";
import { poolOf } from "../../objects/stubs/pool.ts";
import type { PredictionStub } from "../../objects/stubs/prediction.ts";
import type { Explanation } from "../../protocol/explanation.ts";
import type { Caller } from "../access/access.ts";
import type { Services } from "../services.ts";
import { withTimeout } from "../with-timeout.ts";
import { findOwnPrediction, predictionStub } from "./predictions.ts";

export const AS_OPERATOR: Viewer = { isOperator: true, sees: () => true };

/** The viewer that a caller is: models are named as if all were private. */
export const asCaller = (principal: Principal): Viewer => ({
  isOperator: false,
  sees: ({ model_id: id, model_owner_id: owner_id }) =>
    accessToModel(principal, { id, owner_id, visibility: "private", level: null }, "read") ===
    "granted",
});

/** @throws ProblemError not_found */
export async function explainPrediction(
  services: Services,
  caller: Caller,
  id: string,
  viewer: Viewer = asCaller(caller),
): Promise<Explanation> {
  const stub = await predictionStub(services, caller, id);
  const facts = await stub.runFacts();
  if (facts) return explainFacts(services, stub, facts, viewer);
  return explainRow(services, await findOwnPrediction(services, caller, id));
}

export const explainRow = ({ present }: Services, row: PredictionRow): Explanation =>
  explanationOfRow(present.prediction(row, ""));

export async function explainFacts(
  { env }: Services,
  stub: PredictionStub,
  facts: RunFacts,
  viewer: Viewer,
): Promise<Explanation> {
  const { pool } = facts;
  const answer =
    isWaiting(facts) && pool !== REMOTE_HARDWARE
      ? await withTimeout(poolOf(env, pool).explain(String(stub.id)), `pool ${pool}`)
      : null;
  return explanationOf(facts, answer, viewer, Date.now());
}
