/**
 * For all routes: the request body. It is read when a route first needs it, which is after
 * authentication, and its memory is freed when the route has finished.
 */
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import type { AppEnv } from "../context.ts";
import { REPORTS_BOUNDS } from "../protocol/channel.ts";
import { BODY_BOUNDS, BodyReader, MAX_BODY_BYTES, type Sender } from "./body-reader.ts";
import { clientNetwork } from "./rate-limit.ts";

/** Without authentication: a sign-in form has a few fields, and most creates are smaller, too. */
export const ANONYMOUS_BYTES = 64 * 1024;

const FORM = /^(?:multipart\/form-data|application\/x-www-form-urlencoded)\b/i;

/** File routes stream the raw body instead, and check its length themselves. */
export const requestBody = createMiddleware<AppEnv>(async (c, next) => {
  if (!c.req.raw.body) return next();
  let reader: BodyReader | undefined;
  const release = () => {
    reader?.release();
    c.req.bodyCache = {};
    c.req.addValidatedData("json", {});
  };
  c.set("releaseBody", release);
  const isForm = FORM.test(c.req.header("content-type") ?? "");
  let read: Promise<string | ArrayBuffer> | undefined;
  // Hono derives every format from its cache: a form from the bytes, JSON from the text.
  Object.defineProperty(c.req.bodyCache, isForm ? "arrayBuffer" : "text", {
    enumerable: true,
    get: () => {
      reader ??= new BodyReader(c.req.raw, senderOf(c));
      read ??= isForm ? reader.form() : reader.text();
      return read;
    },
  });
  try {
    await next();
  } finally {
    release();
  }
});

function senderOf(c: Context<AppEnv>): Sender {
  const { caller, runner, operator } = c.var;
  const owner = caller?.user_id ?? runner?.token_id ?? (operator && "operator");
  const bounds = runner ? REPORTS_BOUNDS : BODY_BOUNDS;
  return owner === undefined
    ? { owner: clientNetwork(c), maxBytes: ANONYMOUS_BYTES, bounds }
    : { owner, maxBytes: MAX_BODY_BYTES, bounds };
}
