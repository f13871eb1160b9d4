/**
 * Errors in the format of the Anthropic convention. `vendorb` is the contract's name for Anthropic's API.
 * Errors of a call, its container or the service are OpenAiProblems here, too: only their format differs.
 */
import type { ValidationFailure } from "../domain/schemas/validation.ts";
import type { AnthropicErrorBody, AnthropicErrorType } from "../protocol/anthropic.ts";
import type { ValidationIssue } from "../protocol/common.ts";
import { issueOf, type OpenAiProblem, retryHeader } from "./openai.ts";

/** The convention's error types by status; other statuses have the type of all client or server errors. */
const TYPES: Record<number, AnthropicErrorType> = {
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  408: "timeout_error",
  409: "conflict_error",
  429: "rate_limit_error",
  503: "overloaded_error",
  504: "timeout_error",
};

const typeOf = (status: number): AnthropicErrorType =>
  TYPES[status] ?? (status >= 500 ? "api_error" : "invalid_request_error");

/** The code on which the official client sends the whole conversation again. */
export const THREAD_NOT_FOUND = "thread_not_found";

const TOO_LONG = "prompt is too long: ";

/** @param requestId null in a stream, whose head has it */
export function anthropicBody(
  { status, error: { message, param, code } }: OpenAiProblem,
  requestId: string | null,
): AnthropicErrorBody {
  // The convention has no field for the place, and agents recognize an overflown context by its text.
  const where = param && !message.includes(param) ? `${param}: ` : "";
  const what = code === "context_length_exceeded" ? TOO_LONG : "";
  return {
    type: "error",
    error: {
      type: typeOf(status),
      message: what + where + message,
      ...(code === THREAD_NOT_FOUND && { details: { error_code: code } }),
    },
    request_id: requestId,
  };
}

export function anthropicResponse(problem: OpenAiProblem, requestId: string): Response {
  const { status, error } = problem;
  const detail = status === 422 ? { detail: [issueOf(error)] } : {};
  const body = { ...detail, ...anthropicBody(problem, requestId) };
  return Response.json(body, { status, headers: retryHeader(problem) });
}

/** The last event of a stream that breaks off. */
export const anthropicErrorEvent = (problem: OpenAiProblem): string =>
  `event: error\ndata: ${JSON.stringify(anthropicBody(problem, null))}\n\n`;

/**
 * Returns both formats in one body: the `detail` of every 422 of this API, and the `error` that these clients
 * show.
 */
export function anthropicValidationResponse(
  { issues }: ValidationFailure,
  requestId: string,
): Response {
  const [first] = issues;
  const message = first ? messageOf(first) : "The request is not valid.";
  const body: AnthropicErrorBody = {
    type: "error",
    error: { type: "invalid_request_error", message },
    request_id: requestId,
  };
  return Response.json({ detail: issues, ...body }, { status: 422 });
}

/** Returns the message with its path in the convention's notation: `messages.1.content`. */
const messageOf = ({ loc, msg }: ValidationIssue): string =>
  [loc.slice(1).join("."), msg].filter(Boolean).join(": ");
