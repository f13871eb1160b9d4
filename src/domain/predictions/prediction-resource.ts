/** The prediction resource, from its live state. */
import type { Prediction } from "../../protocol/prediction.ts";
import type { PredictionSpec, PredictionState } from "./state.ts";

export const secondsText = (seconds: number | null) =>
  seconds === null ? null : seconds.toFixed(3);

export function presentPrediction(spec: PredictionSpec, state: PredictionState): Prediction {
  return {
    id: spec.id,
    model: spec.model,
    created_at: new Date(spec.created_at).toISOString(),
    updated_at: new Date(state.updated_at).toISOString(),
    status: state.status,
    setup_time: secondsText(state.setup_seconds),
    execution_time: secondsText(state.execution_seconds),
    error: state.error,
    metrics: state.metrics,
    url: spec.url,
    stream: spec.stream,
  };
}
