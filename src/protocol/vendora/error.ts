/** Errors as the vendora convention has them. */
import { z } from "zod";
import { validationError } from "../common.ts";

export const vendoraError = z.object({
  message: z.string(),
  type: z.string(),
  /** A way into the body: `messages[1].content`. */
  param: z.string().nullable(),
  code: z.string().nullable(),
});
export type VendoraError = z.infer<typeof vendoraError>;

export const vendoraErrorBody = z.object({ error: vendoraError }).meta({
  id: "VendoraError",
  description: "An error, as the vendora convention has it",
});

/** Both bodies of a 422 in one: the API's own, and the convention's. */
export const vendoraInvalid = validationError.extend({ error: vendoraError }).meta({
  id: "VendoraValidationError",
  description:
    "What is wrong with the request: each mistake, and the first as the convention has it",
});
