/** The closed list of problems. Here, and only here, one becomes a status code and a body. */
import type { Context } from "hono";
import { HTTPException } from "hono/http-exception";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { malformedJson, ValidationFailure } from "./domain/schemas/validation.ts";
import {
  VendoraProblem,
  vendoraProblem,
  vendoraResponse,
  vendoraValidationResponse,
} from "./errors-vendora.ts";
import { logger } from "./log.ts";
import type { Problem } from "./protocol/common.ts";

const PROBLEMS = {
  bad_request: [400, "Bad request"],
  unauthenticated: [401, "Authentication required"],
  forbidden: [403, "Not allowed"],
  not_found: [404, "Not found"],
  method_not_allowed: [405, "Method not allowed"],
  request_timeout: [408, "Request timeout"],
  conflict: [409, "Conflict"],
  session_superseded: [409, "Session superseded"],
  too_large: [413, "Too large"],
  unsupported_media_type: [415, "Unsupported media type"],
  range_not_satisfiable: [416, "Range not satisfiable"],
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

export const problemTitle = (code: ProblemCode): string => PROBLEMS[code][1];

export const problemStatus = ({ code }: ProblemError): ContentfulStatusCode => PROBLEMS[code][0];

export const conflict = (detail: string) => new ProblemError("conflict", detail);

/** Of what may be there all the same, for somebody else. */
export const notVisible = (what: string) =>
  new ProblemError("not_found", `${what} was not found: it is not there, or not yours to see.`);

/** @param next what whoever asked for it can do now, where there is something */
export const notFound = (what: string, next = "") =>
  new ProblemError("not_found", `${what} was not found.${next && ` ${next}`}`);

function problemResponse(code: ProblemCode, detail: string, c: Context): Response {
  const [status] = PROBLEMS[code];
  if (isVendoraRequest(c)) return vendoraResponse(vendoraProblem(status, detail));
  return Response.json(problemBody(code, detail, c), {
    status,
    headers: { "content-type": "application/problem+json" },
  });
}

function problemBody(code: ProblemCode, detail: string, c: Context): Problem {
  const [status, title] = PROBLEMS[code];
  return { type: `urn:auspex:${code}`, title, status, detail, request_id: c.get("requestId") };
}

/** The last words of a stream that may not go on. It has no id: whoever may resumes where it was. */
export function problemEvent({ code, message }: ProblemError, c: Context): string {
  if (!isVendoraRequest(c))
    return `event: problem\ndata: ${JSON.stringify(problemBody(code, message, c))}\n\n`;
  const { error } = vendoraProblem(PROBLEMS[code][0], message);
  return `data: ${JSON.stringify({ error })}\n\n`;
}

const validationResponse = (failure: ValidationFailure, c: Context) =>
  isVendoraRequest(c)
    ? vendoraValidationResponse(failure)
    : Response.json({ detail: failure.issues }, { status: 422 });

/** Clients of that convention know its errors, and no others. */
export const isVendoraRequest = ({ req }: Context) => req.path.startsWith("/v1/vendora/");

/** Hono's one `onError`. What is unexpected is logged whole and answered without detail. */
export async function errorResponse(error: Error, c: Context): Promise<Response> {
  const requestId: string = c.get("requestId");
  if (error instanceof VendoraProblem) return vendoraResponse(error);
  if (error instanceof ValidationFailure) return validationResponse(error, c);
  if (error instanceof HTTPException && error.status === 400)
    return errorResponse(await bodyErrorOf(c), c);
  const problem = toProblem(error, c);
  if (problem) {
    const response = problemResponse(problem.code, problem.message, c);
    for (const [name, value] of Object.entries(problem.headers)) response.headers.set(name, value);
    if (problem.code === "unauthenticated") response.headers.set("www-authenticate", "Bearer");
    return response;
  }
  // Nobody is there to be answered, and nobody's fault it is.
  if (c.req.raw.signal.aborted) return problemResponse("bad_request", "It was broken off.", c);
  logger.error("Unexpected error", { request_id: requestId, error });
  return problemResponse(
    "internal",
    "Something went wrong on our side. Try again, and give the operator this request_id if it stays.",
    c,
  );
}

/** Hono's validator does not say why it could not have the JSON: whether it could not be read, or is none. */
const bodyErrorOf = (c: Context): Promise<Error> =>
  c.req.json().then(
    () => new Error("JSON that was none is some"),
    (error) => (error instanceof SyntaxError ? malformedJson(error) : error),
  );

export function toProblem(error: Error, c: Context): ProblemError | undefined {
  if (error instanceof ProblemError) return error;
  // The media type of a body, held against those that the route declares.
  if (error instanceof HTTPException && error.status === 415) {
    const type = c.req.header("content-type");
    const sent = type === undefined ? "nothing" : `'${type.slice(0, 100)}'`;
    const detail = `Send JSON and say so: 'Content-Type: application/json', not ${sent}.`;
    return new ProblemError("unsupported_media_type", detail);
  }
  if (hasMessage(error, BROKEN_REFERENCE))
    return conflict("Something that this names was deleted meanwhile. Look again, then try again.");
  if (hasMessage(error, PASSING)) {
    logger.warn("Database unavailable", { request_id: c.get("requestId"), error });
    const detail = "The database is busy or restarting. Try again in a few seconds.";
    return new ProblemError("unavailable", detail, { "retry-after": "5" });
  }
  return undefined;
}

/** The errors of D1 that its documentation calls overload or a restart: they pass by themselves. */
const PASSING =
  /D1_ERROR: .*(overloaded|reset because its code was updated|caused object to be reset|Network connection lost|transient issue)/;

/** What was there when it was looked up is not there any more. */
const BROKEN_REFERENCE = /D1_ERROR: FOREIGN KEY constraint failed/;

/** drizzle wraps what D1 threw, as the cause of an error of its own. */
const hasMessage = (error: unknown, message: RegExp): boolean =>
  error instanceof Error && (message.test(error.message) || hasMessage(error.cause, message));
