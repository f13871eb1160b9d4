/** The closed list of problems. Here, and only here, one becomes a status code and a body. */
import type { Context } from "hono";
import { HTTPException } from "hono/http-exception";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { malformedJson, ValidationFailure } from "./domain/validation.ts";
import type { Problem } from "./protocol/common.ts";

const PROBLEMS = {
  bad_request: [400, "Bad request"],
  unauthenticated: [401, "Authentication required"],
  forbidden: [403, "Not allowed"],
  not_found: [404, "Not found"],
  conflict: [409, "Conflict"],
  session_superseded: [409, "Session superseded"],
  too_large: [413, "Too large"],
  unsupported_media_type: [415, "Unsupported media type"],
  outdated_runner: [426, "Runner out of date"],
  too_many_requests: [429, "Too many requests"],
  internal: [500, "Internal error"],
  unavailable: [503, "Temporarily unavailable"],
} as const satisfies Record<string, readonly [ContentfulStatusCode, string]>;

export type ProblemCode = keyof typeof PROBLEMS;

export class ProblemError extends Error {
  readonly code: ProblemCode;
  readonly headers: Record<string, string>;

  /** `detail` is shown to the caller: say what is wrong and what to do. */
  constructor(code: ProblemCode, detail: string, headers: Record<string, string> = {}) {
    super(detail);
    this.code = code;
    this.headers = headers;
  }
}

export const notFound = (what: string) => new ProblemError("not_found", `${what} was not found.`);

function problemResponse(code: ProblemCode, detail: string, requestId: string): Response {
  const [status, title] = PROBLEMS[code];
  const body: Problem = {
    type: `urn:auspex:${code}`,
    title,
    status,
    detail,
    request_id: requestId,
  };
  return Response.json(body, {
    status,
    headers: { "content-type": "application/problem+json" },
  });
}

const validationResponse = ({ issues }: ValidationFailure) =>
  Response.json({ detail: issues }, { status: 422 });

/** Hono's one `onError`. What is unexpected is logged whole and answered without detail. */
export function answerError(error: Error, c: Context): Response {
  const requestId: string = c.get("requestId");
  if (error instanceof ValidationFailure) return validationResponse(error);
  // Thrown by Hono's validator where the body does not parse.
  if (error instanceof HTTPException && error.status === 400)
    return validationResponse(malformedJson());
  if (error instanceof ProblemError) {
    const response = problemResponse(error.code, error.message, requestId);
    for (const [name, value] of Object.entries(error.headers)) response.headers.set(name, value);
    if (error.code === "unauthenticated") response.headers.set("www-authenticate", "Bearer");
    return response;
  }
  console.error("unexpected error", { requestId, error: error.stack ?? String(error) });
  return problemResponse(
    "internal",
    "Something went wrong on our side. Try again, and give the operator this request_id if it stays.",
    requestId,
  );
}
