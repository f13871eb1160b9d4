/** The closed list of problems. Only this file turns one into a status code and a response body. */
import type { Context } from "hono";
import { HTTPException } from "hono/http-exception";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { Convention } from "../domain/openai/call.ts";
import { malformedJson, ValidationFailure } from "../domain/schemas/validation.ts";
import { TimedOut } from "../lib/timeout.ts";
import { type TransientError, transientErrorIn } from "../lib/transient-error.ts";
import { logger } from "../log.ts";
import type { Problem } from "../protocol/common.ts";
import {
  anthropicErrorEvent,
  anthropicResponse,
  anthropicValidationResponse,
} from "./anthropic.ts";
import {
  OpenAiProblem,
  openAiProblem,
  openAiResponse,
  openAiValidationResponse,
  quotaProblem,
} from "./openai.ts";
import {
  bearerChallenge,
  invalidManifest,
  isRegistryRequest,
  RegistryError,
  registryProblem,
  registryResponse,
} from "./registry.ts";
import { isReplicateRequest, replicateValidationResponse } from "./replicate.ts";

const PROBLEMS = {
  bad_request: [400, "Bad request"],
  unauthenticated: [401, "Authentication required"],
  budget_exhausted: [402, "Budget used up or reserved"],
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

  /** @param detail shown to the caller: what is wrong and what to do about it */
  constructor(code: ProblemCode, detail: string, headers: Record<string, string> = {}) {
    super(detail);
    this.code = code;
    this.headers = headers;
  }
}

export const problemTitle = (code: ProblemCode): string => PROBLEMS[code][1];

export const problemStatus = ({ code }: ProblemError): ContentfulStatusCode => PROBLEMS[code][0];

export const conflict = (detail: string) => new ProblemError("conflict", detail);

/** The error for resources that may exist without the caller having access to them. */
export const notVisible = (what: string) =>
  new ProblemError("not_found", `${what} was not found, or you do not have access to it.`);

/** @param next what the caller can do instead */
export const notFound = (what: string, next = "") =>
  new ProblemError("not_found", `${what} was not found.${next && ` ${next}`}`);

function problemResponse(code: ProblemCode, detail: string, c: Context): Response {
  const [status] = PROBLEMS[code];
  if (conventionOf(c)) return conventionResponse(conventionProblem(code, detail, c), c);
  if (isRegistryRequest(c)) return registryResponse(registryProblem(status, detail));
  return Response.json(problemBody(code, detail, c), {
    status,
    headers: { "content-type": "application/problem+json" },
  });
}

const conventionProblem = (code: ProblemCode, detail: string, c: Context): OpenAiProblem =>
  code === "budget_exhausted"
    ? quotaProblem(conventionOf(c) === "vendorb" ? 402 : 429, detail)
    : openAiProblem(PROBLEMS[code][0], detail);

function problemBody(code: ProblemCode, detail: string, c: Context): Problem {
  const [status, title] = PROBLEMS[code];
  return { type: `urn:auspex:${code}`, title, status, detail, request_id: c.get("requestId") };
}

/**
 * Returns the last event of a stream that is cut off. It has no id, so that a client resumes from the last
 * real event.
 */
export function problemEvent({ code, message }: ProblemError, c: Context): string {
  const problem = conventionProblem(code, message, c);
  switch (conventionOf(c)) {
    case "vendora":
      return `data: ${JSON.stringify({ error: problem.error })}\n\n`;
    case "vendorb":
      return anthropicErrorEvent(problem);
    default:
      return `event: problem\ndata: ${JSON.stringify(problemBody(code, message, c))}\n\n`;
  }
}

/** Returns the last line of a stream of JSON lines that is cut off. */
export const problemLine = ({ code, message }: ProblemError, c: Context): string =>
  `${JSON.stringify({ type: "problem", problem: problemBody(code, message, c) })}\n`;

function validationResponse(failure: ValidationFailure, c: Context): Response {
  const convention = conventionOf(c);
  if (convention === "vendora") return openAiValidationResponse(failure);
  if (convention === "vendorb") return anthropicValidationResponse(failure, c.get("requestId"));
  if (isRegistryRequest(c)) return registryResponse(invalidManifest(failure.message));
  if (isReplicateRequest(c)) return replicateValidationResponse(failure, c);
  return Response.json({ detail: failure.issues }, { status: 422 });
}

/** Returns the convention of the request's path: its clients understand only its error format. */
export function conventionOf({ req }: Context): Convention | undefined {
  if (req.path.startsWith("/v1/vendora/")) return "vendora";
  return req.path.startsWith("/v1/vendorb/") ? "vendorb" : undefined;
}

/** @param convention of the client, whose request has perhaps another path */
export const conventionResponse = (
  problem: OpenAiProblem,
  c: Context,
  convention = conventionOf(c),
): Response =>
  convention === "vendorb"
    ? anthropicResponse(problem, c.get("requestId"))
    : openAiResponse(problem);

/** Hono's `onError`. Unexpected errors are logged in full; the response does not reveal them. */
export async function errorResponse(error: Error, c: Context): Promise<Response> {
  const requestId: string = c.get("requestId");
  if (error instanceof OpenAiProblem) return conventionResponse(error, c);
  if (error instanceof RegistryError) return registryResponse(error);
  if (error instanceof ValidationFailure) return validationResponse(error, c);
  if (error instanceof HTTPException && error.status === 400)
    return errorResponse(await bodyErrorOf(c), c);
  // The client has left: nobody reads the response, and nothing is logged.
  if (c.req.raw.signal.aborted)
    return problemResponse("bad_request", "The client closed the request.", c);
  const problem = toProblem(error, c);
  if (problem) {
    const response = problemResponse(problem.code, problem.message, c);
    for (const [name, value] of Object.entries(problem.headers)) response.headers.set(name, value);
    if (problem.code === "unauthenticated") {
      const challenge = isRegistryRequest(c) ? bearerChallenge(c) : "Bearer";
      response.headers.set("www-authenticate", challenge);
    }
    return response;
  }
  logger.error("Unexpected error", { request_id: requestId, error });
  return problemResponse(
    "internal",
    "Something went wrong on our side. Try again. If it keeps happening, send the operator this request_id.",
    c,
  );
}

/** Hono's validator hides why a body failed: it could not be read, or it is not JSON. */
const bodyErrorOf = (c: Context): Promise<Error> =>
  c.req.json().then(
    () => new Error("The validator rejected a body that is valid JSON"),
    (error) => (error instanceof SyntaxError ? malformedJson(error) : error),
  );

export function toProblem(error: Error, c: Context): ProblemError | undefined {
  if (error instanceof ProblemError) return error;
  // The body's media type is not one that the route declares.
  if (error instanceof HTTPException && error.status === 415) {
    const type = c.req.header("content-type");
    const sent = type === undefined ? "nothing" : `'${type.slice(0, 100)}'`;
    const detail = `Send JSON with 'Content-Type: application/json', not ${sent}.`;
    return new ProblemError("unsupported_media_type", detail);
  }
  if (hasMessage(error, BROKEN_REFERENCE))
    return conflict("A resource in this request was just deleted. Check it and try again.");
  const kind = transientErrorIn(error);
  if (kind) {
    logger.warn("Platform unavailable", { request_id: c.get("requestId"), kind, error });
    const { detail, seconds } = UNAVAILABLE[kind];
    return new ProblemError("unavailable", detail, { "retry-after": String(seconds) });
  }
  if (error instanceof TimedOut) {
    logger.warn("Durable Object did not answer", { request_id: c.get("requestId"), error });
    const detail =
      "The service did not respond in time. The request may have succeeded. Check before you retry.";
    return new ProblemError("unavailable", detail, { "retry-after": "5" });
  }
  return undefined;
}

const UNAVAILABLE: Record<TransientError, { detail: string; seconds: number }> = {
  passing: {
    detail:
      "Part of the service is restarting. The request may have succeeded. Check before you retry in a few seconds.",
    seconds: 5,
  },
  busy: { detail: "The service is overloaded. Try again in 30 seconds.", seconds: 30 },
  full: {
    detail: "The service is out of storage. Delete unused resources or contact the operator.",
    seconds: 3_600,
  },
};

/** D1's error when a row that existed at its look-up has since been deleted. */
const BROKEN_REFERENCE = /D1_ERROR: FOREIGN KEY constraint failed/;

/** drizzle wraps D1's error as the cause of its own. */
const hasMessage = (error: unknown, message: RegExp): boolean =>
  error instanceof Error && (message.test(error.message) || hasMessage(error.cause, message));
