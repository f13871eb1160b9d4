/** Errors as the clients of the vendora convention expect them: its body, its codes, who may retry. */
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { issueAt, type ValidationFailure } from "./domain/schemas/validation.ts";
import type { ValidationIssue } from "./protocol/common.ts";
import type { VendoraError } from "./protocol/vendora/error.ts";

/** What only this convention knows: a call that it has its own words for, a model's own refusal. */
export class VendoraProblem extends Error {
  readonly status: ContentfulStatusCode;
  readonly error: VendoraError;
  /** Whether the same call may do better later. Undefined: its status says so. */
  readonly retry: boolean | undefined;

  constructor(
    status: ContentfulStatusCode,
    error: Partial<VendoraError> & { message: string },
    retry?: boolean,
  ) {
    super(error.message);
    this.status = status;
    this.error = { type: typeOf(status), param: null, code: null, ...error };
    this.retry = retry;
  }
}

export const invalidParameter = (param: string, code: string, message: string) =>
  new VendoraProblem(400, { message, param, code });

/** By status, what the convention calls it where it has one word for it. */
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

export const vendoraResponse = ({ status, error, retry }: VendoraProblem): Response =>
  Response.json(status === 422 ? { detail: [issueOf(error)], error } : { error }, {
    status,
    ...(retry !== undefined && { headers: { "x-should-retry": String(retry) } }),
  });

/** A container's own 422, as every 422 here has it. */
const issueOf = ({ message, param }: VendoraError): ValidationIssue =>
  issueAt(["body", ...(param?.split(/[.[\]]+/).filter(Boolean) ?? [])], {
    type: "value_error",
    msg: message,
  });

/** A problem that every endpoint may have. A conflict stays one, whatever clients think of a 409. */
export const vendoraProblem = (status: ContentfulStatusCode, message: string) =>
  new VendoraProblem(
    status,
    { message, code: CODES[status] ?? null },
    status === 409 ? false : undefined,
  );

/** Both bodies in one: the `detail` of every 422 here, and the `error` that these clients show. */
export function vendoraValidationResponse({ issues }: ValidationFailure): Response {
  const [first] = issues;
  const param = first && paramOf(first);
  const error: VendoraError = {
    message: first ? [param, first.msg].filter(Boolean).join(": ") : "The request is not valid.",
    type: "invalid_request_error",
    param: param || null,
    code: first ? codeOf(first) : null,
  };
  return Response.json({ detail: issues, error }, { status: 422 });
}

/** `messages[1].content`: as the convention writes a way into the body. */
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
