/** The error response for a prediction that has not succeeded: its status, and whether to retry. */
import { z } from "zod";
import { TranslationFailed } from "../../domain/openai/translation.ts";
import { OpenAiProblem } from "../../errors/openai.ts";
import { logger } from "../../log.ts";
import { openAiError } from "../../protocol/openai/error.ts";
import type { Prediction } from "../../protocol/prediction.ts";

/** The runner's report of a container that has refused a request. */
const refusal = z.object({ status: z.int(), error: openAiError });

/** Container statuses that are caused by the request; all others are the container's errors. */
const ABOUT_THE_REQUEST = [400, 413, 415, 422] as const;
/** Container statuses of an overload: the same call may succeed later. */
const OVERLOADED = [429, 503] as const;

export const timeoutProblem = (seconds: number) =>
  new OpenAiProblem(
    504,
    {
      message: `The model did not finish within ${seconds} s, and the request was canceled. Reduce the request, stream it, or run it asynchronously with POST /v1/predictions.`,
      type: "timeout_error",
      code: "timeout",
    },
    false,
  );

/**
 * Returns undefined when the prediction has succeeded.
 * @param timeoutSeconds after which a call is canceled
 */
export function failureOf(
  { status, error, created_at, updated_at }: Prediction,
  timeoutSeconds: number,
): OpenAiProblem | undefined {
  if (status === "succeeded") return undefined;
  if (status !== "failed") {
    const seconds = (Date.parse(updated_at) - Date.parse(created_at)) / 1_000;
    if (seconds >= timeoutSeconds) return timeoutProblem(timeoutSeconds);
    const message = "The prediction was canceled.";
    return new OpenAiProblem(400, { message, code: "canceled" }, false);
  }
  const refused = refusal.safeParse(error?.detail).data;
  const about = ABOUT_THE_REQUEST.find((one) => one === refused?.status);
  if (refused && about) return new OpenAiProblem(about, refused.error, false);
  const overloaded = OVERLOADED.find((one) => one === refused?.status);
  if (refused && overloaded) return new OpenAiProblem(overloaded, refused.error);
  const message = error?.message ?? "The prediction failed.";
  const isModels = error?.source === "external";
  const code = isModels ? "model_error" : "server_error";
  // The error is marked as not to be retried: clients that retry twice would use the GPU three times.
  return new OpenAiProblem(isModels ? 502 : 500, { message, type: "server_error", code }, false);
}

/** Returns the result of `translate`. An output that cannot be translated is an error of the model. */
export function translateOrFail<T>(translate: () => T): T {
  try {
    return translate();
  } catch (error) {
    throw asOpenAiProblem(error);
  }
}

/** Returns the problem that a stream reports when it breaks off because of this error. */
export function brokenStream(error: unknown): OpenAiProblem {
  const problem = asOpenAiProblem(error);
  if (problem instanceof OpenAiProblem) return problem;
  logger.error("Stream failed", { error });
  const message =
    "The stream was interrupted on our side. The prediction's event log has the complete output.";
  return new OpenAiProblem(500, { message, code: "server_error" });
}

export function asOpenAiProblem(error: unknown): unknown {
  if (!(error instanceof TranslationFailed)) return error;
  const { message } = error;
  return new OpenAiProblem(502, { message, type: "server_error", code: "model_error" }, false);
}
