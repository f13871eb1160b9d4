/**
 * Errors in the format of the OpenAI convention. `vendora` is the contract's name for the
 * conventions of OpenAI's API, which its clients expect: its error body, its codes, its retry header.
 */
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { issueAt, type ValidationFailure } from "../domain/schemas/validation.ts";
import type { ValidationIssue } from "../protocol/common.ts";
import type { OpenAiError } from "../protocol/openai/error.ts";

/** An error that only this convention has, such as a model's refusal. */
export class OpenAiProblem extends Error {
  readonly status: ContentfulStatusCode;
  readonly error: OpenAiError;
  /** Whether clients should retry the same call. Undefined: the status decides. */
  readonly retry: boolean | undefined;

  constructor(
    status: ContentfulStatusCode,
    error: Partial<OpenAiError> & { message: string },
    retry?: boolean,
  ) {
    super(error.message);
    this.status = status;
    this.error = { type: typeOf(status), param: null, code: null, ...error };
    this.retry = retry;
  }
}

export const invalidParameter = (param: string, code: string, message: string) =>
  new OpenAiProblem(400, { message, param, code });

/** The convention's error codes by status. */
const CODES: Record<number, string> = {
  401: "invalid_api_key",
  403: "insufficient_permissions",
  404: "not_found",
  405: "method_not_allowed",
  408: "request_timeout",
  409: "conflict",
  413: "request_too_large",
  415: "unsupported_media_type",
  429: "rate_limit_exceeded",
  500: "server_error",
  503: "server_error",
};

const typeOf = (status: number) => {
  if (status === 429) return "rate_limit_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
};

export function openAiResponse(problem: OpenAiProblem): Response {
  const { status, error } = problem;
  const body = status === 422 ? { detail: [issueOf(error)], error } : { error };
  return Response.json(body, { status, headers: retryHeader(problem) });
}

export const retryHeader = ({ retry }: OpenAiProblem): Record<string, string> =>
  retry === undefined ? {} : { "x-should-retry": String(retry) };

/** The issue of a container's 422, in the format of every 422 of this API. */
export const issueOf = ({ message, param }: OpenAiError): ValidationIssue =>
  issueAt(["body", ...(param?.split(/[.[\]]+/).filter(Boolean) ?? [])], {
    type: "value_error",
    msg: message,
  });

/**
 * Returns a problem of the API in this format. Its clients retry a 409 unless the response forbids it; here a
 * retry never helps.
 */
export const openAiProblem = (status: ContentfulStatusCode, message: string) =>
  new OpenAiProblem(
    status,
    { message, code: CODES[status] ?? null },
    status === 409 ? false : undefined,
  );

/** Returns the problem of an exhausted budget as clients know it. They would retry a 429. */
export const quotaProblem = (status: 402 | 429, message: string) =>
  new OpenAiProblem(
    status,
    { message, type: "insufficient_quota", code: "insufficient_quota" },
    false,
  );

/**
 * Returns both formats in one body: the `detail` of every 422 of this API, and the `error` that these clients
 * show.
 */
export function openAiValidationResponse({ issues }: ValidationFailure): Response {
  const [first] = issues;
  const param = first && paramOf(first);
  const error: OpenAiError = {
    message: first ? [param, first.msg].filter(Boolean).join(": ") : "The request is not valid.",
    type: "invalid_request_error",
    param: param || null,
    code: first ? codeOf(first) : null,
  };
  return Response.json({ detail: issues, error }, { status: 422 });
}

/** A path into the body in the convention's notation: `messages[1].content`. */
const paramOf = ({ loc }: ValidationIssue): string =>
  loc
    .slice(1)
    .map((part, n) => (/^\d+$/.test(String(part)) ? `[${part}]` : n === 0 ? part : `.${part}`))
    .join("");

function codeOf({ type }: ValidationIssue): string {
  if (type === "missing") return "missing_required_parameter";
  if (type === "json_invalid") return "invalid_json";
  return /_(type|parsing)$/.test(type) ? "invalid_type" : "invalid_value";
}
