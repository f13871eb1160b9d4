/** Variables of models: environment variables of their containers. Values are never shown. */
import { z } from "zod";
import { timestamp } from "./common.ts";

export const variableName = z
  .string()
  .regex(
    /^[A-Z_][A-Z0-9_]{0,99}$/,
    "upper-case letters, digits and '_', not starting with a digit, at most 100 characters",
  );

/** Set by the runner, or needed by the container itself. */
const RESERVED =
  /^(?:AUSPEX_.*|COG_MAX_CONCURRENCY|COG_THROTTLE_RESPONSE_INTERVAL|HOME|HOST|LLAMA_ARG_HOST|LLAMA_ARG_PORT|PATH|PORT|TMPDIR|WEBHOOK_AUTH_TOKEN)$/;

/**
 * Variables that make programs load other code, or give a container other GPUs. Images can set them
 * themselves. But with the process engine, the operator has reviewed the model folder, and whoever
 * publishes it as a version must not decide what else runs in it.
 */
const LOADERS =
  /^(?:(?:DYLD|LD|NODE|NPM_CONFIG|NVIDIA)_.*|(?:PERL5|PYTHON|RUBY).*|BASH_ENV|ENV|GCONV_PATH|GLIBC_TUNABLES|IFS|JAVA_TOOL_OPTIONS|JDK_JAVA_OPTIONS|OPENSSL_CONF|OPENSSL_MODULES|PROMPT_COMMAND|PS4|SHELLOPTS|_JAVA_OPTIONS)$/;

/** The name of a variable that can be set. */
export const settableName = variableName
  .refine(
    (name) => !RESERVED.test(name),
    "this name is reserved for the runner: choose another one",
  )
  .refine(
    (name) => !LOADERS.test(name),
    "this variable changes how programs load code: set it in the image instead",
  );

/** No NUL, which ends an environment value, and no lone surrogates. Without the `u` flag, for OpenAPI. */
const TEXT = /^(?:[^\0\ud800-\udfff]|[\ud800-\udbff][\udc00-\udfff])*$/;

/** Linux limits an environment value to 128 KiB; a UTF-16 unit has at most 3 bytes in UTF-8. */
const MAX_CHARS = 32 * 1024;

export const setVariable = z
  .strictObject({
    value: z
      .string()
      .min(1)
      .max(MAX_CHARS, { abort: true })
      .regex(TEXT, "valid Unicode without NUL characters")
      .meta({ description: "Value of the variable. Never returned", example: "hf_…" }),
  })
  .meta({ id: "SetVariable" });

export const variable = z
  .object({
    name: variableName.meta({ example: "HF_TOKEN" }),
    updated_at: timestamp.meta({ description: "When the value was set" }),
  })
  .meta({ id: "Variable", description: "A variable of a model, without its value" });
export type Variable = z.infer<typeof variable>;

const parameter = { description: "Name of the variable", example: "HF_TOKEN" };

export const oneVariable = z.object({ variable_name: variableName.meta(parameter) });
export const oneSettable = z.object({ variable_name: settableName.meta(parameter) });
