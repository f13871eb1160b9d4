/**
 * For all routes: what they are sent. It is read when a route first asks for it, which is after
 * `authentication` has let its sender in, and given back when it has been worked on.
 */
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { FRAME_BOUNDS } from "../protocol/channel.ts";
import type { App } from "../routes/context.ts";
import { BODY_BOUNDS, BodyReader, MAX_BODY_BYTES, type Sender } from "./body-reader.ts";
import { networkOf } from "./rate-limit.ts";

/** Who signs in or makes an account fills in a few fields. */
const STRANGER_BYTES = 64 * 1024;

const FORM = /^(?:multipart\/form-data|application\/x-www-form-urlencoded)\b/i;

/** Files, which go on as they come, take the body itself, and hold it to a length. */
export const bodies = createMiddleware<App>(async (c, next) => {
  if (!c.req.raw.body) return next();
  let reader: BodyReader | undefined;
  const letGo = () => {
    reader?.release();
    c.req.bodyCache = {};
    c.req.addValidatedData("json", {});
  };
  c.set("letBodyGo", letGo);
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
    letGo();
  }
});

function senderOf(c: Context<App>): Sender {
  const { caller, runner, operator } = c.var;
  const owner = caller?.user_id ?? runner?.token_id ?? (operator && "operator");
  const bounds = runner ? FRAME_BOUNDS : BODY_BOUNDS;
  return owner === undefined
    ? { owner: networkOf(c), maxBytes: STRANGER_BYTES, bounds }
    : { owner, maxBytes: MAX_BODY_BYTES, bounds };
}
