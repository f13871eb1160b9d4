/** Errors of the OpenAI convention. */
import { z } from "zod";
import { validationError } from "../common.ts";

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
