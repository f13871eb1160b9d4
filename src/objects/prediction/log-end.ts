/**
 * The line that the log has of a prediction: what an operator searches for by its id, its model or
 * its runner. The error's text is left out: it may quote a container, and so its input.
 */
import type { PredictionLife } from "../../domain/predictions/life.ts";
import { type Bindings, settings } from "../../env.ts";
import { logger } from "../../log.ts";

const MESSAGE = "Prediction ended";

/** Always written when the service itself has failed it; otherwise for a sample. */
export function logEnd(env: Bindings, { spec, state }: PredictionLife): void {
  const { owner, name, version_number } = spec.model;
  const line = {
    prediction_id: spec.id,
    user_id: spec.user_id,
    ...(state.attempt?.runner_id && { runner_id: state.attempt.runner_id }),
    model: `${owner}/${name}:${version_number}`,
    hardware: spec.hardware.identifier,
    status: state.status,
    ...(state.error && { error_source: state.error.source }),
    attempts: state.attempt_count,
    seconds: (state.updated_at - spec.created_at) / 1_000,
    setup_seconds: state.setup_seconds,
    execution_seconds: state.execution_seconds,
  };
  if (state.error?.source === "internal") logger.warn(MESSAGE, line);
  else logger.info(settings(env).logSampleRate, MESSAGE, line);
}
