/** Variables of models: what their containers find in their environment. Names are shown, values never. */
import { z } from "zod";
import { timestamp } from "./common.ts";

export const variableName = z
  .string()
  .regex(/^[A-Z_][A-Z0-9_]{0,99}$/, "capitals, digits and '_', no digit first, 100 at most");

/** The runner sets these itself, or they say where the container's own parts are. */
const RUNNERS =
  /^(?:AUSPEX_.*|COG_MAX_CONCURRENCY|COG_THROTTLE_RESPONSE_INTERVAL|HOME|HOST|LLAMA_ARG_HOST|LLAMA_ARG_PORT|PATH|PORT|TMPDIR|WEBHOOK_AUTH_TOKEN)$/;

/**
 * These make a program load other code, or give a container other GPUs. An image can bring them
 * along; but a runner without Docker starts folders that its operator has looked at, and whoever
 * publishes one as a version is not to decide what else runs in it.
 */
const LOADERS =
  /^(?:(?:DYLD|LD|NODE|NPM_CONFIG|NVIDIA)_.*|(?:PERL5|PYTHON|RUBY).*|BASH_ENV|ENV|GCONV_PATH|GLIBC_TUNABLES|IFS|JAVA_TOOL_OPTIONS|JDK_JAVA_OPTIONS|OPENSSL_CONF|OPENSSL_MODULES|PROMPT_COMMAND|PS4|SHELLOPTS|_JAVA_OPTIONS)$/;

/** A name that a value may be given to. */
export const settableName = variableName
  .refine((name) => !RUNNERS.test(name), "the runner sets this itself: choose another name")
  .refine(
    (name) => !LOADERS.test(name),
    "this changes how programs run rather than what they are told: set it in the image",
  );

/** Whole characters but NUL, which ends a text in an environment; without a flag, for the document. */
const TEXT = /^(?:[^\0\ud800-\udfff]|[\ud800-\udbff][\udc00-\udfff])*$/;

/** Linux takes 128 KiB as one text of an environment, and a character is three bytes at most. */
const MAX_CHARS = 32 * 1024;

export const setVariable = z
  .strictObject({
    value: z
      .string()
      .min(1)
      .max(MAX_CHARS, { abort: true })
      .regex(TEXT, "whole characters, and no NUL")
      .meta({ description: "What it is set to. It is never shown again", example: "hf_…" }),
  })
  .meta({ id: "SetVariable" });

export const variable = z
  .object({
    name: variableName.meta({ example: "HF_TOKEN" }),
    updated_at: timestamp.meta({ description: "When its value was set" }),
  })
  .meta({ id: "Variable", description: "A variable of a model, without its value" });
export type Variable = z.infer<typeof variable>;

const parameter = { description: "Name of the variable", example: "HF_TOKEN" };

export const oneVariable = z.object({ variable_name: variableName.meta(parameter) });
export const oneSettable = z.object({ variable_name: settableName.meta(parameter) });
