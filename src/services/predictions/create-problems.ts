/** The errors of predictions that are not created. */
import type { PredictionSpec } from "../../domain/predictions/state.ts";
import { ProblemError } from "../../errors/errors.ts";
import { logger } from "../../log.ts";
import type { Refusal } from "../../objects/prediction/rpc-types.ts";
import type { Services } from "../services.ts";

export function refusalProblem(
  { settings }: Services,
  spec: PredictionSpec,
  reason: Refusal,
): ProblemError {
  if (reason === "unavailable") return unavailable(spec, "its row was not written");
  if (reason === "conflict") {
    return new ProblemError(
      "conflict",
      "This Idempotency-Key was used with a different request in the last 24 hours. Use a new key for each request.",
    );
  }
  return new ProblemError(
    "too_many_requests",
    `You have ${settings.maxWaiting} predictions waiting for this hardware. Wait until some have run.`,
    { "retry-after": "10" },
  );
}

export function unavailable(
  { id, user_id }: PredictionSpec,
  reason: unknown,
  detail = "The prediction could not be created and will not run. Try again.",
): ProblemError {
  logger.error("Prediction not created", { prediction_id: id, user_id, error: reason });
  return new ProblemError("unavailable", detail, { "retry-after": "1" });
}
