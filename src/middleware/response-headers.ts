/**
 * The headers that every response of all routes has. They are set at once on the finished response: Hono
 * copies a response for each header that is set before, and for each `c.header` after that.
 */
import type { Context } from "hono";
import { cors } from "hono/cors";
import { createMiddleware } from "hono/factory";
import type { AppEnv } from "../context.ts";
import { rateHeaders } from "../domain/accounts/rate-limit.ts";
import { conventionOf, ProblemError } from "../errors/errors.ts";
import { describeRequest } from "../lib/current-request.ts";
import { ANSWERED_BY_HEADER } from "../services/openai/streams.ts";
import { isNotStored } from "./conditional.ts";
import {
  CONTENT_LEFT_OUT_HEADER,
  COST_HEADER,
  PREDICTION_HEADER,
  TOOLS_LEFT_OUT_HEADER,
} from "./openai.ts";
import { tracedRequest } from "./traced-request.ts";

const ALWAYS = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers": [
    "x-request-id",
    "request-id",
    "location",
    "preference-applied",
    PREDICTION_HEADER,
    COST_HEADER,
    ANSWERED_BY_HEADER,
    TOOLS_LEFT_OUT_HEADER,
    CONTENT_LEFT_OUT_HEADER,
    "x-should-retry",
    "retry-after",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "x-ratelimit-limit-requests",
    "x-ratelimit-remaining-requests",
    "x-ratelimit-reset-requests",
    "anthropic-ratelimit-requests-limit",
    "anthropic-ratelimit-requests-remaining",
    "anthropic-ratelimit-requests-reset",
    "etag",
    "accept-ranges",
    "content-range",
    "content-disposition",
  ].join(),
  // User content is served from the pages' origin, whose policy allows scripts from 'self'.
  "x-content-type-options": "nosniff",
};

/** The wait after a 429 that knows none: of a container, and of what the account has to finish first. */
const RETRY_SECONDS = "10";

const preflight = cors({ origin: "*", maxAge: 86_400 });

/** An id that a client may give its request. */
const SENT_ID = /^[\w=-]{1,128}$/;

export const responseHeaders = createMiddleware<AppEnv>(async (c, next) => {
  const sent = c.req.header("x-request-id") ?? "";
  c.set("requestId", SENT_ID.test(sent) ? sent : crypto.randomUUID());
  describeRequest({ requestId: c.get("requestId"), ...tracedRequest(c) });
  if (c.req.method === "OPTIONS") c.res = (await preflight(c, next)) ?? c.res;
  else await next();
  const { headers } = withOwnHeaders(c, "x-request-id", c.get("requestId"));
  for (const [name, value] of headersOf(c)) headers.set(name, value);
  const isRetried = headers.get("x-should-retry") !== "false";
  if (c.res.status === 429 && isRetried && !headers.has("retry-after"))
    headers.set("retry-after", RETRY_SECONDS);
  if (isNotStored(c.res)) headers.set("cache-control", "no-store");
});

/** Sets a header. The headers of an object's own response cannot be changed: `c.header` copies the response. */
function withOwnHeaders(c: Context<AppEnv>, name: string, value: string): Response {
  try {
    c.res.headers.set(name, value);
  } catch {
    c.header(name, value);
  }
  return c.res;
}

/** Returns the headers, with the rate limit that the request has come closest to. */
function headersOf(c: Context<AppEnv>): [string, string][] {
  const rate = c.get("rate");
  const convention = conventionOf(c);
  return Object.entries({
    ...ALWAYS,
    ...(rate && rateHeaders(rate, convention, Date.now())),
    ...(convention === "vendorb" && { "request-id": c.get("requestId") }),
  });
}

const FILE = /^\/v1\/files\/[^/]+\/[^/]+$/;
const READS = ["GET", "HEAD"];

/**
 * Serves files from an origin of their own (FILES_ORIGIN), so that uploads never share an origin with the
 * pages. That origin serves nothing else, and signed URLs of the main origin redirect to it.
 */
export const separateFilesOrigin = createMiddleware<AppEnv>(async (c, next) => {
  const { filesOrigin } = c.var.services.settings;
  if (filesOrigin === undefined) return next();
  const { origin, pathname, search } = new URL(c.req.url);
  // The router decodes `/%761/files`, so the undecoded path says nothing about the route.
  const isFilePath = FILE.test(c.req.path);
  const isFile = isFilePath && READS.includes(c.req.method);
  if (origin !== filesOrigin) {
    if (isFile && c.req.query("signature") !== undefined)
      return c.redirect(`${filesOrigin}${pathname}${search}`, 307);
  } else if (!isFile && !(isFilePath && c.req.method === "OPTIONS")) {
    throw new ProblemError("not_found", "This origin serves only files.");
  }
  await next();
});
