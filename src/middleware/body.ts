/**
 * For all routes: what they are sent. It is read when a route first asks for it, which is after
 * `authentication` has let its sender in, and given back when it has been worked on.
 */
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import type { AppEnv } from "../context.ts";
import { FRAME_BOUNDS } from "../protocol/channel.ts";
import { BODY_BOUNDS, BodyReader, MAX_BODY_BYTES, type Sender } from "./body-reader.ts";
import { clientNetwork } from "./rate-limit.ts";

/** Who signs in or makes an account fills in a few fields. */
const STRANGER_BYTES = 64 * 1024;

const FORM = /^(?:multipart\/form-data|application\/x-www-form-urlencoded)\b/i;

/** Files, which go on as they come, take the body itself, and hold it to a length. */
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
  // Whatever Hono is asked for it makes of what is cached: a form of its bytes, JSON of the text.
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
  const bounds = runner ? FRAME_BOUNDS : BODY_BOUNDS;
  return owner === undefined
    ? { owner: clientNetwork(c), maxBytes: STRANGER_BYTES, bounds }
    : { owner, maxBytes: MAX_BODY_BYTES, bounds };
}
