/** Errors of the Anthropic convention. */
import { z } from "zod";
import { validationError } from "../common.ts";

const anthropicErrorType = z.enum([
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
export type AnthropicErrorType = z.infer<typeof anthropicErrorType>;

const envelope = {
  type: z.literal("error"),
  error: z.object({
    type: anthropicErrorType,
    message: z.string(),
    details: z.object({ error_code: z.string() }).optional(),
  }),
  request_id: z.string().nullable(),
};

export const anthropicErrorBody = z.object(envelope).meta({
  id: "VendorbError",
  description: "An error in the format of Anthropic's API",
});
export type AnthropicErrorBody = z.infer<typeof anthropicErrorBody>;

/** The body of a 422: the API's own format and the convention's combined. */
export const anthropicInvalid = validationError.extend(envelope).meta({
  id: "VendorbValidationError",
  description: "All validation errors, and the first one in the format of Anthropic's API",
});
