/** A prediction as lists have it. */
import type { Prediction, PredictionWithIO } from "../../../src/protocol/prediction.ts";

/** Returns a prediction as lists and `done` have it. */
export function listed({
  input: _,
  output: __,
  data_removed: ___,
  ...rest
}: PredictionWithIO): Prediction {
  return rest;
}
