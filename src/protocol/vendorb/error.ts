/** Errors of the vendorb convention. */
import { z } from "zod";
import { validationError } from "../common.ts";

const vendorbErrorType = z.enum([
  "invalid_request_error",
  "authentication_error",
  "permission_error",
  "not_found_error",
  "conflict_error",
  "rate_limit_error",
  "timeout_error",
  "api_error",
  "overloaded_error",
]);
export type VendorbErrorType = z.infer<typeof vendorbErrorType>;

const envelope = {
  type: z.literal("error"),
  error: z.object({
    type: vendorbErrorType,
    message: z.string(),
    details: z.object({ error_code: z.string() }).optional(),
  }),
  request_id: z.string().nullable(),
};

export const vendorbErrorBody = z.object(envelope).meta({
  id: "VendorbError",
  description: "An error in the format of Anthropic's API",
});
export type VendorbErrorBody = z.infer<typeof vendorbErrorBody>;

/** The body of a 422: the API's own format and the convention's combined. */
export const vendorbInvalid = validationError.extend(envelope).meta({
  id: "VendorbValidationError",
  description: "All validation errors, and the first one in the format of Anthropic's API",
});
