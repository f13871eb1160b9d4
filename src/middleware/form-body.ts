/**
 * For calls of conventions whose clients send forms: multipart/form-data becomes the JSON body that it
 * stands for. Its fields are values and its files URLs, as long data URIs are (middleware/body.ts); all that
 * follows sees JSON.
 */
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import type { z } from "zod";
import type { AppEnv } from "../context.ts";
import { formObject } from "../domain/vendora/form-fields.ts";
import { whenClientLeaves } from "../lib/current-request.ts";
import { boundaryOf } from "../lib/multipart.ts";
import { logger } from "../log.ts";
import type { Json } from "../protocol/common.ts";
import type { VendoraCall } from "../protocol/runner.ts";
import { vendoraModelName } from "../protocol/vendora/chat.ts";
import { FormFiles } from "../services/predictions/form-files.ts";
import { findCallable } from "../services/vendora/calls.ts";
import { FormReader } from "./form-reader.ts";

/**
 * Comes after authentication. A form for a model that is not there ends where it names it, which official
 * clients do after the files as well as before: files that came first are stored and discarded, so that a
 * caller may cost at most what a form may have.
 * @param schema of the body
 */
export const takesForm = (call: VendoraCall, schema: z.ZodObject) =>
  createMiddleware<AppEnv>(async (c, next) => {
    const boundary = boundaryOf(c.req.header("content-type") ?? "");
    if (boundary === undefined) return next();
    const { services, caller } = c.var;
    const { url, method, signal } = c.req.raw;
    const files = new FormFiles(services, new URL(url).origin);
    const reader = new FormReader(c.req.raw, {
      boundary,
      owner: caller.user_id,
      maxBytes: services.settings.partSizes.largest,
      files,
      onField: async ({ name, value }) => {
        const model = name === "model" ? vendoraModelName.safeParse(value).data : undefined;
        if (model !== undefined) await findCallable(services, caller, model, call);
      },
    });
    const releaseOther = c.var.releaseBody;
    c.set("releaseBody", () => {
      reader.release();
      releaseOther?.();
    });
    const discard = () =>
      files.discard().catch((error) => logger.warn("Files of a form not discarded", { error }));
    whenClientLeaves(discard);
    try {
      giveBody(c, formObject(await reader.read(), schema));
      c.set("sentFiles", files.sent);
      const headers = new Headers(c.req.raw.headers);
      headers.set("content-type", "application/json");
      c.req.raw = new Request(url, { method, headers, signal });
      await next();
    } finally {
      reader.release();
      c.executionCtx.waitUntil(discard());
    }
  });

/** Apart, so that whoever waits for the answer does not hold it. */
function giveBody(c: Context<AppEnv>, body: Record<string, Json>): void {
  c.var.bodies?.push(body);
  Object.assign(c.req, { json: async () => body });
}
