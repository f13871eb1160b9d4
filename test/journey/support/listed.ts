/** A prediction as it is in a list. */
import type { Prediction, PredictionWithIO } from "../../../src/protocol/prediction.ts";

/** As lists and `done` have it. */
export function listed({
  input: _,
  output: __,
  data_removed: ___,
  ...rest
}: PredictionWithIO): Prediction {
  return rest;
}
