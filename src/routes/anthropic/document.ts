/** Documentation that the routes of the Anthropic convention share. */
import { anthropicErrorBody, anthropicInvalid } from "../../protocol/anthropic.ts";
import { jsonResponse } from "../responses.ts";

export const tags = ["Anthropic"];

export const anthropicErrorResponse = (description: string) =>
  jsonResponse(description, anthropicErrorBody);

export const anthropicErrors = {
  401: anthropicErrorResponse("The token is missing or invalid"),
  403: anthropicErrorResponse("The token is not allowed to do this"),
  404: anthropicErrorResponse("The resource does not exist, or you do not have access to it"),
  422: jsonResponse("The request failed validation", anthropicInvalid),
};

export const callErrors = {
  ...anthropicErrors,
  400: anthropicErrorResponse(
    "The version does not support the call, or its container rejected the request",
  ),
  402: anthropicErrorResponse("A budget does not allow the call"),
  409: anthropicErrorResponse("The `Idempotency-Key` was already used with a different request"),
  502: anthropicErrorResponse("The model failed. Retrying the same call is unlikely to help"),
  504: anthropicErrorResponse("The model did not finish in time. The prediction was canceled"),
};
