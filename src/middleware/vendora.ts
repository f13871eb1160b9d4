/** What the calls of the vendora convention have in common, before and after their routes. */
import { createMiddleware } from "hono/factory";
import { z } from "zod";
import type { AppEnv } from "../context.ts";
import { type VendoraProblem, vendoraProblem } from "../errors-vendora.ts";
import type { VendoraCall } from "../protocol/runner.ts";
import { vendoraModelName } from "../protocol/vendora/chat.ts";
import { findCallable } from "../services/vendora/calls.ts";

export const PREDICTION_HEADER = "auspex-prediction-id";
export const TOOLS_LEFT_OUT_HEADER = "auspex-tools-left-out";

/** Of a caller's own words. */
const LISTABLE = /^[\w.-]{1,64}$/;
const MAX_LISTED = 20;

/** What stands where an id of a response would, and is none: official clients have calls for it. */
const NOT_SERVED: Record<string, string> = {
  "/v1/vendora/responses/compact":
    "Send the whole conversation as 'input', or name a 'previous_response_id'.",
  "/v1/vendora/responses/input_tokens": "The 'usage' of a response has its tokens.",
};

/** Of an address that is no other's for this method. */
export function unservedPath(path: string): VendoraProblem | undefined {
  const instead = NOT_SERVED[path];
  return instead === undefined
    ? undefined
    : vendoraProblem(404, `POST ${path} is not served here. ${instead}`);
}

/** Says which prediction an answer is of, also when that is an error. */
export const addPredictionHeaders = createMiddleware<AppEnv>(async (c, next) => {
  await next();
  const leftOut = c.get("toolsLeftOut")?.filter((type) => LISTABLE.test(type));
  if (leftOut?.length) c.header(TOOLS_LEFT_OUT_HEADER, leftOut.slice(0, MAX_LISTED).join(", "));
  const id = c.get("predictionId");
  if (!id) return;
  c.header(PREDICTION_HEADER, id);
  // It has begun, and would again.
  if (c.res.status === 500) c.header("x-should-retry", "false");
  c.header("location", `/v1/predictions/${id}`);
});

/**
 * Finds what is called before the rest of the body is looked at, as clients of the convention
 * know it. What is no JSON, or names no model, is for the route to say.
 */
export const resolveTarget = (call: VendoraCall) =>
  createMiddleware<AppEnv>(async (c, next) => {
    const body: unknown = await c.req.json().catch(() => undefined);
    const named = z.object({ model: vendoraModelName }).safeParse(body).data;
    if (named) {
      c.set("target", await findCallable(c.var.services, c.var.caller, named.model, call));
    }
    await next();
  });
