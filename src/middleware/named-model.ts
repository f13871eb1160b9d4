/** The model that a request names, where that can be known before its sender is. */
import type { Context } from "hono";
import { z } from "zod";
import type { AppEnv } from "../context.ts";
import { modelReference } from "../protocol/common.ts";
import { ANONYMOUS_BYTES } from "./body.ts";

/**
 * Returns the model. Undefined: the request names none, or names it where only a known sender is looked up.
 */
export type NamedModel = (c: Context<AppEnv>) => string | undefined | Promise<string | undefined>;

/**
 * Returns the model of a JSON body that is small enough for an anonymous sender; the sender of a larger one
 * is identified first. Errors of the body are reported later.
 */
export const fieldInBody =
  (field: string): NamedModel =>
  async ({ req }) => {
    // A form is read only once, by `takesForm`.
    if (/^multipart\//i.test(req.header("content-type") ?? "")) return undefined;
    const length = req.header("content-length");
    if (length === undefined || Number(length) > ANONYMOUS_BYTES) return undefined;
    const body: unknown = await req.json().catch(() => undefined);
    return z.object({ [field]: modelReference }).safeParse(body).data?.[field];
  };

export const modelInBody = fieldInBody("model");

export const modelInPath: NamedModel = ({ req }) => {
  const { model_owner, model_name, version_number } = req.param();
  const path = `${model_owner}/${model_name}`;
  const reference = version_number === undefined ? path : `${path}:${version_number}`;
  return modelReference.safeParse(reference).data;
};

export const deploymentInPath: NamedModel = ({ req }) => {
  const { deployment_owner, deployment_name } = req.param();
  return modelReference.safeParse(`${deployment_owner}/${deployment_name}`).data;
};
