/** Documentation that the routes of the vendorb convention share. */
import { vendorbErrorBody, vendorbInvalid } from "../../protocol/vendorb/error.ts";
import { jsonResponse } from "../responses.ts";

export const tags = ["Vendorb"];

/** An error with a description specific to its route. */
export const vendorbErrorResponse = (description: string) =>
  jsonResponse(description, vendorbErrorBody);

/** Errors that every route can return. */
export const vendorbErrors = {
  401: vendorbErrorResponse("The token is missing or invalid"),
  403: vendorbErrorResponse("The token is not allowed to do this"),
  404: vendorbErrorResponse("The resource does not exist, or is not visible to you"),
  422: jsonResponse("The request failed validation", vendorbInvalid),
};

/** Errors of calls that create a prediction. */
export const callErrors = {
  ...vendorbErrors,
  400: vendorbErrorResponse(
    "The version does not support the call, or its container rejected the request",
  ),
  409: vendorbErrorResponse("The `Idempotency-Key` was used for a different request"),
  502: vendorbErrorResponse("The model failed; retrying the same call will not help"),
  504: vendorbErrorResponse("The model did not finish in time, and the prediction was canceled"),
};
