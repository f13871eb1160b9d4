/** How a response ends: by its prediction's end, and by what its container said of it. */
import type { z } from "zod";
import { type Prediction, type PredictionError, prediction } from "../../protocol/prediction.ts";
import { isAtLimit } from "./chat-limit.ts";
import { type Fields, fieldsOf, isFields, textOf } from "./response-json.ts";

/** What the log's `done` says that matters here. */
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

/** What is known when the log ends. */
export interface Known {
  ended: Ended;
  /** Why what came could not be translated. */
  failure: string | null;
  /** The container's own response. */
  response: Fields | undefined;
  /** Of a chat. */
  finishReason: string | null;
  /** Tokens that it may have, if the caller has said so. */
  limit: number | undefined;
}

/** The log decides: what has been cancelled, or has failed, has not been completed. */
export function endingOf(known: Known): Ending {
  const { ended, failure, response } = known;
  const none = { error: null, incomplete_details: null };
  if (ended.status === "canceled") return { ...none, status: "cancelled" };
  const error =
    errorOfPrediction(ended.error) ??
    (failure === null ? errorOfResponse(response) : errorWith("server_error", failure));
  if (error) return { ...none, status: "failed", error };
  const reason = reasonOf(known);
  if (reason === undefined) return { ...none, status: "completed" };
  return { ...none, status: "incomplete", incomplete_details: reason ? { reason } : null };
}

/** Why it is incomplete: null when that is not known, undefined when it is not. */
function reasonOf({ ended, response, finishReason, limit }: Known) {
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

/** Of the convention's codes, a closed list, those that are not about images. */
const CODES = ["server_error", "rate_limit_exceeded", "invalid_prompt"] as const;

function errorOfPrediction(error: PredictionError | null): Fields | null {
  if (!error) return null;
  const { status, error: upstream } = fieldsOf(error.detail);
  const { code } = fieldsOf(upstream);
  return errorWith(isKnown(code) ? code : codeOf(status), error.message);
}

const isKnown = (code: unknown) => CODES.some((known) => known === code);

/** A status that a container answered. */
function codeOf(status: unknown) {
  if (status === 429) return "rate_limit_exceeded";
  return typeof status === "number" && status >= 400 && status < 500
    ? "invalid_prompt"
    : "server_error";
}

function errorOfResponse(response: Fields | undefined): Fields | null {
  if (!isFields(response?.error) && response?.status !== "failed") return null;
  const { code, message } = fieldsOf(response.error);
  return errorWith(code, textOf(message) || "The model has failed.");
}

/** `type` and `param` are in neither schema, but there are clients that ask for them. */
const errorWith = (code: unknown, message: string): Fields => ({
  code: CODES.find((known) => known === code) ?? "server_error",
  message,
  type: "server_error",
  param: null,
});
