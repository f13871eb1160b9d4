/** Responses that operations share: errors, and common headers. */
import { type ProblemCode, problemTitle } from "../errors/errors.ts";
import type { Components, ResponseObject } from "./types.ts";

export const json = (name: string) => ({ schema: { $ref: `#/components/schemas/${name}` } });

export const REQUEST_ID = "5f0c1f8e-2f6b-4c62-9a55-0a7a3d3e8b1c";

export const headers = {
  "x-request-id": {
    description: "ID of the request. If you send a valid one, it is used",
    schema: { type: "string" },
    example: REQUEST_ID,
  },
  "retry-after": {
    description: "Seconds to wait before retrying",
    schema: { type: "integer", minimum: 1 },
    example: 10,
  },
  "x-ratelimit-limit": {
    description: "Requests per period, for the limit you are closest to",
    schema: { type: "integer", minimum: 1 },
    example: 2000,
  },
  "x-ratelimit-remaining": {
    description: "Upper bound of the remaining requests",
    schema: { type: "integer", minimum: 0 },
    example: 1999,
  },
  "x-ratelimit-reset": {
    description: "When the period ends, in Unix seconds",
    schema: { type: "integer", minimum: 1 },
    example: 1_795_310_130,
  },
  "www-authenticate": {
    description: "Required authentication scheme",
    schema: { type: "string" },
    example: "Bearer",
  },
  etag: {
    description: "Version of the resource. Send it as `If-None-Match` to check for changes",
    schema: { type: "string" },
    example: 'W/"5d41402abc4b2a76b9719d911017c592"',
  },
  "content-range": {
    description: "Size of the file",
    schema: { type: "string" },
    example: "bytes */20000000",
  },
} satisfies Components["headers"];

export const headerRefs = (...names: string[]): NonNullable<ResponseObject["headers"]> =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

export interface ErrorExample {
  code: ProblemCode;
  description: string;
  /** An example of `detail`. */
  detail: string;
}

export const PROBLEMS: Record<number, ErrorExample> = {
  400: {
    code: "bad_request",
    description: "The body does not match the URL",
    detail: "Part 2 must have exactly 3222784 bytes; this request has 1000.",
  },
  401: {
    code: "unauthenticated",
    description: "The token is missing or invalid",
    detail: "Send an access token: 'Authorization: Bearer <ACCESS_TOKEN>'. Create one at /tokens.",
  },
  402: {
    code: "budget_exhausted",
    description: "A budget does not allow the prediction",
    detail:
      "The budget of this account does not allow this prediction: 0.2 USD of 10 USD per day is left, and it may cost up to 0.5 USD.",
  },
  403: {
    code: "forbidden",
    description: "The token is not allowed to do this",
    detail: "This requires a token with the scope write. Create one at /tokens.",
  },
  404: {
    code: "not_found",
    description: "The resource does not exist, or you do not have access to it",
    detail: "The prediction '01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e' was not found.",
  },
  408: {
    code: "request_timeout",
    description: "The body arrived too slowly",
    detail: "The body arrived too slowly: at least 160 kB every 10 s are required. Try again.",
  },
  409: {
    code: "conflict",
    description: "The request conflicts with the current state",
    detail: "The prediction has ended: it is succeeded.",
  },
  413: {
    code: "too_large",
    description: "The body exceeds 10 MiB or 500,000 values",
    detail: "A request body can have at most 10 MiB. Send files with POST /v1/uploads, or by URL.",
  },
  415: {
    code: "unsupported_media_type",
    description: "The `Content-Type` is not JSON, or the body is compressed",
    detail: "Send JSON with 'Content-Type: application/json', not 'text/plain'.",
  },
  416: {
    code: "range_not_satisfiable",
    description: "The range starts after the end of the file",
    detail: "The file has 20000000 bytes.",
  },
  429: {
    code: "too_many_requests",
    description: "Too many requests, or too many queued predictions",
    detail: "Too many requests with this token. Wait 10 seconds, then send requests less often.",
  },
  500: {
    code: "internal",
    description: "Something went wrong on our side",
    detail:
      "Something went wrong on our side. Try again. If it keeps happening, send the operator this request_id.",
  },
  503: {
    code: "unavailable",
    description: "The database is busy or restarting, or there are too many large requests at once",
    detail: "The database is busy or restarting. Try again in a few seconds.",
  },
};

const HEADERS: Record<string, (keyof typeof headers)[]> = {
  401: ["www-authenticate"],
  416: ["content-range"],
  429: ["retry-after", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"],
  503: ["retry-after"],
};

export const errorHeaders = (status: string) =>
  headerRefs("x-request-id", ...(HEADERS[status] ?? []));

const problem = (status: string, { code, description, detail }: ErrorExample): ResponseObject => ({
  description,
  headers: errorHeaders(status),
  content: {
    "application/problem+json": {
      ...json("Problem"),
      example: {
        type: `urn:auspex:${code}`,
        title: problemTitle(code),
        status: Number(status),
        detail,
        request_id: REQUEST_ID,
      },
    },
  },
});

export const notModified: ResponseObject = {
  description: "Not modified",
  headers: headerRefs("x-request-id", "etag"),
};

export const invalid: ResponseObject = {
  description: "The request failed validation",
  headers: headerRefs("x-request-id"),
  content: {
    "application/json": {
      ...json("ValidationError"),
      example: {
        detail: [
          { loc: ["body", "model"], msg: "Field required", type: "missing" },
          {
            loc: ["query", "page_size"],
            msg: "Input should be less than or equal to 50",
            type: "less_than_equal",
            input: "500",
            ctx: { le: 50 },
          },
        ],
      },
    },
  },
};

export const sharedAnswers: Record<string, ResponseObject> = {
  ...Object.fromEntries(
    Object.entries(PROBLEMS).map(([status, one]) => [status, problem(status, one)]),
  ),
  422: invalid,
};
