/**
 * The request body, for all routes. It is read when a route first needs it, which is after authentication,
 * and its memory is freed when the route has finished.
 */
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import type { AppEnv } from "../context.ts";
import { checkFinite } from "../domain/schemas/validation.ts";
import { oneLineJson } from "../lib/json-text.ts";
import type { Json } from "../protocol/common.ts";
import { type SentBy, takeFiles, withSentImages } from "../services/predictions/inline-files.ts";
import { BODY_BOUNDS, BodyReader, MAX_BODY_BYTES, type Sender } from "./body-reader.ts";
import { clientNetwork } from "./rate-limit.ts";

/**
 * The largest body that is read without authentication: a login form has a few fields, and most creates are
 * smaller, too.
 */
export const ANONYMOUS_BYTES = 64 * 1024;

const FORM = /^(?:multipart\/form-data|application\/x-www-form-urlencoded)\b/i;

/**
 * Gives a request its body reader. File routes stream the raw body instead, and check its length themselves.
 */
export const requestBody = createMiddleware<AppEnv>(async (c, next) => {
  if (!c.req.raw.body) return next();
  const isForm = FORM.test(c.req.header("content-type") ?? "");
  let reader: BodyReader | undefined;
  let read: Promise<Uint8Array<ArrayBuffer>> | undefined;
  let parsed: ReturnType<typeof parse> | undefined;
  const readerOf = () => {
    reader ??= new BodyReader(c.req.raw, senderOf(c));
    return reader;
  };
  const bytes = () => {
    read ??= isForm ? readerOf().form() : readerOf().json();
    return read;
  };
  // A request without a media type makes a validator ask for the bytes after they were parsed. For other
  // requests they are not kept.
  const isNamed = Boolean(c.req.header("content-type"));
  const bodies: object[] = [];
  c.set("bodies", bodies);
  const release = () => {
    reader?.release();
    parsed = undefined;
    read = undefined;
    c.req.bodyCache = {};
    c.req.addValidatedData("json", {});
    // The list is emptied, since a waiting reader of a form may still hold it, but has no use for the bytes.
    c.var.inlineFiles?.files.splice(0);
    c.set("inlineFiles", undefined);
    c.set("sentBody", undefined);
  };
  c.set("releaseBody", () => {
    release();
    for (const body of bodies.splice(0)) empty(body);
  });
  // Hono derives every format from its cache. Cached JSON would be kept as text, and parsed for each reader.
  Object.defineProperty(c.req.bodyCache, "arrayBuffer", {
    enumerable: true,
    get: () => bytes().then(({ buffer }) => buffer),
  });
  if (!isForm)
    c.req.json = () => {
      parsed ??= parse(c, readerOf(), isNamed ? readerOf().json() : bytes());
      return parsed;
    };
  try {
    await next();
  } finally {
    release();
  }
});

const takes = (sender: SentBy) =>
  createMiddleware<AppEnv>((c, next) => {
    c.set("takesFilesOf", sender);
    return next();
  });

/**
 * Makes long data URIs of the body files, on routes that create predictions. It comes before the middleware
 * that looks up the sender, which reads the body of an unknown sender.
 */
export const takesDataUris = takes("any");

/** Makes the base64 images of messages files, in addition to long data URIs. */
export const takesImages = takes("messages");

/**
 * Removes the fields of a body. Hono's validators hold the body until the response exists, and cannot be made
 * to release it.
 */
function empty(body: object): void {
  for (const name of Object.keys(body)) Reflect.deleteProperty(body, name);
}

async function parse(
  c: Context<AppEnv>,
  reader: BodyReader,
  bytes: Promise<Uint8Array<ArrayBuffer>>,
) {
  const json = await bytes;
  const sender = c.var.takesFilesOf;
  if (!sender) {
    const text = await reader.decode([json]);
    // The output of a runner may have any number of values: only its frame is parsed here.
    if (c.var.runner) return kept(c, JSON.parse(text));
    return kept(c, parsedJson(text));
  }
  const { origin } = new URL(c.req.url);
  const { pieces, sent } = await takeFiles(c.var.services, origin, sender, json);
  const text = await reader.decode(pieces);
  const body = parsedJson(text);
  c.set("sentBody", { value: body, text: oneLineJson(text) });
  const placed = sent && sender === "messages" ? withSentImages(body, sent) : { body, sent };
  c.set("inlineFiles", placed.sent);
  return kept(c, placed.body);
}

/**
 * @throws SyntaxError; ValidationFailure for a number beyond the range of a double, which the model would get
 * as another
 */
function parsedJson(text: string): Json {
  const body: Json = JSON.parse(text);
  checkFinite(body, ["body"]);
  return body;
}

/** Returns the body, and notes it to be emptied with the request. */
function kept<Body>(c: Context<AppEnv>, body: Body): Body {
  if (typeof body === "object" && body !== null) c.var.bodies?.push(body);
  return body;
}

function senderOf(c: Context<AppEnv>): Sender {
  const { caller, runner, operator } = c.var;
  const owner = caller?.user_id ?? runner?.token_id ?? (operator && "operator");
  const bounds = BODY_BOUNDS;
  return owner === undefined
    ? { owner: clientNetwork(c), maxBytes: ANONYMOUS_BYTES, bounds }
    : { owner, maxBytes: MAX_BODY_BYTES, bounds };
}
