/** The end of a response, from its prediction's end and the container's own report, and its token usage. */
import type { z } from "zod";
import { countOf, type Fields, fieldsOf, isFields, textOf } from "../../lib/fields.ts";
import type { Metrics } from "../../protocol/event.ts";
import type { ChatUsage } from "../../protocol/openai/chat.ts";
import { type PredictionError, prediction } from "../../protocol/prediction.ts";
import { isAtLimit } from "./translation.ts";

/** The fields of the log's `done` that are needed here. */
export const ended = prediction
  .pick({ status: true, updated_at: true, metrics: true, error: true })
  .extend({ cost: prediction.shape.cost.optional() });
export type Ended = z.infer<typeof ended>;

interface Ending {
  status: "completed" | "incomplete" | "failed" | "cancelled";
  error: Fields | null;
  incomplete_details: Fields | null;
}

interface ResponseEndState {
  ended: Ended;
  failure: string | null;
  response: Fields | undefined;
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

/** Returns the container's own usage: of its response, or else of its chat. */
export const usageOf = (response: Fields | undefined, chat: ChatUsage | null): Fields | null =>
  isFields(response?.usage) ? usageOfResponse(response.usage) : chat && usageOfChat(chat);

const usageOfResponse = (usage: Fields): Fields =>
  counted(
    usage.input_tokens,
    usage.output_tokens,
    usage.input_tokens_details,
    usage.output_tokens_details,
  );

const usageOfChat = (usage: ChatUsage): Fields =>
  counted(
    usage.prompt_tokens,
    usage.completion_tokens,
    usage.prompt_tokens_details,
    usage.completion_tokens_details,
  );

/** Returns the usage from the prediction's metrics, when the container reports none. */
export const usageOfMetrics = (metrics: Metrics | null): Fields =>
  counted(metrics?.input_tokens, metrics?.output_tokens, null, null);

function counted(input: unknown, output: unknown, inDetail: unknown, outDetail: unknown): Fields {
  const input_tokens = countOf(input);
  const output_tokens = countOf(output);
  const { cached_tokens, cache_write_tokens } = fieldsOf(inDetail);
  return {
    input_tokens,
    input_tokens_details: {
      cached_tokens: countOf(cached_tokens),
      cache_write_tokens: countOf(cache_write_tokens),
    },
    output_tokens,
    output_tokens_details: { reasoning_tokens: countOf(fieldsOf(outDetail).reasoning_tokens) },
    total_tokens: input_tokens + output_tokens,
  };
}
