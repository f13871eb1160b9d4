/** The end of a response, from its prediction's end and the container's own report. */
import type { z } from "zod";
import { type Prediction, type PredictionError, prediction } from "../../protocol/prediction.ts";
import { isAtLimit } from "./chat-limit.ts";
import { type Fields, fieldsOf, isFields, textOf } from "./response-json.ts";

/** The fields of the log's `done` that are needed here. */
export const ended = prediction.pick({
  status: true,
  updated_at: true,
  metrics: true,
  error: true,
});
export type Ended = Pick<Prediction, keyof z.infer<typeof ended>>;

export interface Ending {
  status: "completed" | "incomplete" | "failed" | "cancelled";
  error: Fields | null;
  incomplete_details: Fields | null;
}

/** The state at the end of the log. */
export interface ResponseEndState {
  ended: Ended;
  /** Why the output could not be translated. */
  failure: string | null;
  /** The container's final response. */
  response: Fields | undefined;
  /** The finish reason of a chat. */
  finishReason: string | null;
  /** The most tokens that the response may have, if the request has a limit. */
  limit: number | undefined;
}

/** Returns the end. The log decides: a prediction that was canceled or failed is never completed. */
export function endingOf(state: ResponseEndState): Ending {
  const { ended, failure, response } = state;
  const none = { error: null, incomplete_details: null };
  if (ended.status === "canceled") return { ...none, status: "cancelled" };
  const error =
    errorOfPrediction(ended.error) ??
    (failure === null ? errorOfResponse(response) : errorWith("server_error", failure));
  if (error) return { ...none, status: "failed", error };
  const reason = reasonOf(state);
  if (reason === undefined) return { ...none, status: "completed" };
  return { ...none, status: "incomplete", incomplete_details: reason ? { reason } : null };
}

/** Returns why the response is incomplete: null when unknown, undefined when it is complete. */
function reasonOf({ ended, response, finishReason, limit }: ResponseEndState) {
  if (response?.status === "incomplete") {
    const { reason } = fieldsOf(response.incomplete_details);
    return INCOMPLETE.find((known) => known === reason) ?? null;
  }
  const isSilent = response?.status == null && !finishReason;
  const cut = isSilent ? isAtLimit(limit, ended.metrics) : finishReason === "length";
  if (cut) return "max_output_tokens";
  return finishReason === "content_filter" ? "content_filter" : undefined;
}

const INCOMPLETE = ["max_output_tokens", "content_filter"] as const;

/** The convention's error codes without those about images, and the one after which agents compact. */
const CODES = [
  "server_error",
  "rate_limit_exceeded",
  "invalid_prompt",
  "context_length_exceeded",
] as const;

function errorOfPrediction(error: PredictionError | null): Fields | null {
  if (!error) return null;
  const { status, error: upstream } = fieldsOf(error.detail);
  const { code } = fieldsOf(upstream);
  return errorWith(isKnownCode(code) ? code : codeOf(status), error.message);
}

const isKnownCode = (code: unknown) => CODES.some((known) => known === code);

/** @param status the container's status */
function codeOf(status: unknown) {
  if (status === 429) return "rate_limit_exceeded";
  return typeof status === "number" && status >= 400 && status < 500
    ? "invalid_prompt"
    : "server_error";
}

function errorOfResponse(response: Fields | undefined): Fields | null {
  if (!isFields(response?.error) && response?.status !== "failed") return null;
  const { code, message } = fieldsOf(response.error);
  return errorWith(code, textOf(message) || "The model failed.");
}

/** Returns an error. `type` and `param` are in neither schema, but some clients read them. */
const errorWith = (code: unknown, message: string): Fields => ({
  code: CODES.find((known) => known === code) ?? "server_error",
  message,
  type: "server_error",
  param: null,
});
