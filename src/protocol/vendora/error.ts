/** Errors of the vendora convention. */
import { z } from "zod";
import { validationError } from "../common.ts";

export const vendoraError = z.object({
  message: z.string(),
  type: z.string(),
  /** A path into the body: `messages[1].content`. */
  param: z.string().nullable(),
  code: z.string().nullable(),
});
export type VendoraError = z.infer<typeof vendoraError>;

export const vendoraErrorBody = z.object({ error: vendoraError }).meta({
  id: "VendoraError",
  description: "An error in the format of OpenAI's API",
});

/** The body of a 422: the API's own format and the convention's combined. */
export const vendoraInvalid = validationError.extend({ error: vendoraError }).meta({
  id: "VendoraValidationError",
  description: "All validation errors, and the first one in the format of OpenAI's API",
});
