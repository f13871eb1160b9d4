/**
 * One point of Analytics Engine for the end of each prediction, where a dataset is bound: what an
 * operator sums up over all accounts, which have their rows and usage each in an object of its own. The
 * columns are listed in dashboard/guides/deploying.md. Nothing of input, output or the error's text.
 */
import type { PredictionLife } from "../../domain/predictions/life.ts";
import type { PredictionState } from "../../domain/predictions/state.ts";
import type { Bindings } from "../../env.ts";
import { logger } from "../../log.ts";

/** What is written is sent later, and may be sampled: nobody waits for it. */
export function measureEnd({ ANALYTICS }: Bindings, { spec, state }: PredictionLife): void {
  const { id: prediction_id, user_id, model, hardware } = spec;
  try {
    ANALYTICS?.writeDataPoint({
      indexes: [user_id],
      blobs: [
        user_id,
        `${model.owner}/${model.name}`,
        String(model.version_number),
        hardware.identifier,
        state.attempt?.runner_id ?? "",
        state.status,
        state.error?.source ?? "",
      ],
      doubles: [
        queueSeconds(state),
        state.setup_seconds ?? 0,
        state.execution_seconds ?? 0,
        state.attempt_count,
      ],
    });
  } catch (error) {
    logger.warn("Prediction not measured", { prediction_id, user_id, error });
  }
}

/** Of the last wait, if runners were lost. A runner has the job since its attempt was opened. */
function queueSeconds({ attempt, waiting_since, updated_at }: PredictionState): number {
  const until = attempt?.started_at == null ? updated_at : attempt.opened_at;
  return Math.max(0, until - waiting_since) / 1_000;
}
