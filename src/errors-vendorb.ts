/**
 * Errors in the format of the vendorb convention. `vendorb` is the contract's name for Anthropic's API.
 * Errors of a call, its container or the service are VendoraProblems here, too: only their format differs.
 */
import type { ValidationFailure } from "./domain/schemas/validation.ts";
import { issueOf, retryHeader, type VendoraProblem } from "./errors-vendora.ts";
import type { ValidationIssue } from "./protocol/common.ts";
import type { VendorbErrorBody, VendorbErrorType } from "./protocol/vendorb/error.ts";

/** The convention's error types by status; other statuses have the type of all client or server errors. */
const TYPES: Record<number, VendorbErrorType> = {
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  408: "timeout_error",
  409: "conflict_error",
  429: "rate_limit_error",
  503: "overloaded_error",
  504: "timeout_error",
};

const typeOf = (status: number): VendorbErrorType =>
  TYPES[status] ?? (status >= 500 ? "api_error" : "invalid_request_error");

/** The code on which the official client sends the whole conversation again. */
export const THREAD_NOT_FOUND = "thread_not_found";

const TOO_LONG = "prompt is too long: ";

/** @param requestId null in a stream, whose head has it */
export function vendorbBody(
  { status, error: { message, param, code } }: VendoraProblem,
  requestId: string | null,
): VendorbErrorBody {
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

export function vendorbResponse(problem: VendoraProblem, requestId: string): Response {
  const { status, error } = problem;
  const detail = status === 422 ? { detail: [issueOf(error)] } : {};
  const body = { ...detail, ...vendorbBody(problem, requestId) };
  return Response.json(body, { status, headers: retryHeader(problem) });
}

/** The last event of a stream that breaks off. */
export const vendorbErrorEvent = (problem: VendoraProblem): string =>
  `event: error\ndata: ${JSON.stringify(vendorbBody(problem, null))}\n\n`;

/**
 * Returns both formats in one body: the `detail` of every 422 of this API, and the `error` that these clients
 * show.
 */
export function vendorbValidationResponse(
  { issues }: ValidationFailure,
  requestId: string,
): Response {
  const [first] = issues;
  const message = first ? messageOf(first) : "The request is not valid.";
  const body: VendorbErrorBody = {
    type: "error",
    error: { type: "invalid_request_error", message },
    request_id: requestId,
  };
  return Response.json({ detail: issues, ...body }, { status: 422 });
}

/** Returns the message with its path in the convention's notation: `messages.1.content`. */
const messageOf = ({ loc, msg }: ValidationIssue): string =>
  [loc.slice(1).join("."), msg].filter(Boolean).join(": ");
