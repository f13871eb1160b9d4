/** The database row of a prediction, from its live state. */
import type { ProjectionMessage } from "../../protocol/queue.ts";
import { initialState, type PredictionSpec, type PredictionState } from "./state.ts";

/** @param revision the id of the last event that it reflects */
export const predictionRow = (
  spec: PredictionSpec,
  state: PredictionState,
  objectId: string,
  revision: number,
): ProjectionMessage => ({
  id: spec.id,
  object_id: objectId,
  user_id: spec.user_id,
  model_id: spec.model_id,
  model_owner: spec.model.owner,
  model_name: spec.model.name,
  version_number: spec.model.version_number,
  stream: spec.stream,
  status: state.status,
  created_at: spec.created_at,
  updated_at: state.updated_at,
  setup_time: state.setup_seconds,
  execution_time: state.execution_seconds,
  error: state.error,
  metrics: state.metrics,
  data_removed: state.forget_at !== null,
  image_bytes: state.image_bytes,
  revision,
});

/** The row of a new prediction, which has only its first event. */
export const initialRow = (spec: PredictionSpec, objectId: string) =>
  predictionRow(spec, initialState(spec), objectId, 1);
