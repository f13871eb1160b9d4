/** Errors of the OpenAI convention. */
import { z } from "zod";
import { validationError } from "../common.ts";
import { compatibilities } from "../model.ts";

export const openAiError = z.object({
  message: z.string(),
  type: z.string(),
  /** A path into the body: `messages[1].content`. */
  param: z.string().nullable(),
  code: z.string().nullable(),
});
export type OpenAiError = z.infer<typeof openAiError>;

export const openAiErrorBody = z.object({ error: openAiError }).meta({
  id: "VendoraError",
  description: "An error in the format of OpenAI's API",
});

/** The body of a 422: the API's own format and the convention's combined. */
export const openAiInvalid = validationError.extend({ error: openAiError }).meta({
  id: "VendoraValidationError",
  description: "All validation errors, and the first one in the format of OpenAI's API",
});

export const openAiModel = z
  .object({
    id: z.string().meta({ description: "Value for `model`", example: "demo/chat" }),
    object: z.literal("model"),
    created: z.int().meta({ description: "Creation time in Unix seconds", example: 1_795_000_000 }),
    owned_by: z.string().meta({ example: "demo" }),
    /** Not part of the convention: which calls it answers. */
    compatibilities,
  })
  .meta({ id: "VendoraModel", description: "A model in the format of OpenAI's API" });
export type OpenAiModel = z.infer<typeof openAiModel>;

export const openAiModels = z
  .object({ object: z.literal("list"), data: z.array(openAiModel) })
  .meta({ id: "VendoraModels" });
