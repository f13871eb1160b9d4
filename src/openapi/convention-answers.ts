/** Errors of the endpoints of a convention, in its format. */
import type { Convention } from "../domain/openai/call.ts";
import { type ErrorExample, errorHeaders, invalid, json, PROBLEMS, REQUEST_ID } from "./answers.ts";
import type { ResponseObject } from "./types.ts";

type Example = Pick<ErrorExample, "description" | "detail">;

const CONVENTION_PROBLEMS: Record<string, Example> = {
  ...PROBLEMS,
  400: {
    description: "The version does not support the call, or its container rejected the request",
    detail: "The model 'demo/chat' does not support embeddings.",
  },
  502: {
    description: "The model failed. Retrying the same call is unlikely to help",
    detail: "The model ran out of memory.",
  },
  504: {
    description: "The model did not finish in time. The prediction was canceled",
    detail: "The model did not finish within 600 s, and the request was canceled.",
  },
};

/** The names of an error's schemas, and examples of them. */
interface Format {
  schema: string;
  example: (detail: string) => object;
  invalidSchema: string;
  invalidExample: object;
}

const FORMATS: Record<Convention, Format> = {
  vendora: {
    schema: "VendoraError",
    example: (message) => ({
      error: { message, type: "invalid_request_error", param: null, code: null },
    }),
    invalidSchema: "VendoraValidationError",
    invalidExample: {
      error: {
        message: "model: Field required",
        type: "invalid_request_error",
        param: "model",
        code: "missing_required_parameter",
      },
    },
  },
  vendorb: {
    schema: "VendorbError",
    example: (message) => ({
      type: "error",
      error: { type: "invalid_request_error", message },
      request_id: REQUEST_ID,
    }),
    invalidSchema: "VendorbValidationError",
    invalidExample: {
      type: "error",
      error: { type: "invalid_request_error", message: "model: Field required" },
      request_id: REQUEST_ID,
    },
  },
};

function answersIn(format: Format): Record<string, ResponseObject> {
  const errors = Object.entries(CONVENTION_PROBLEMS).map(([status, { description, detail }]) => [
    status,
    {
      description,
      headers: errorHeaders(status),
      content: {
        "application/json": { ...json(format.schema), example: format.example(detail) },
      },
    },
  ]);
  const detail = [{ loc: ["body", "model"], msg: "Field required", type: "missing" }];
  const example = { detail, ...format.invalidExample };
  return {
    ...Object.fromEntries(errors),
    422: {
      ...invalid,
      content: { "application/json": { ...json(format.invalidSchema), example } },
    },
  };
}

/** The errors of a convention by status. */
export const conventionAnswers: Record<Convention, Record<string, ResponseObject>> = {
  vendora: answersIn(FORMATS.vendora),
  vendorb: answersIn(FORMATS.vendorb),
};

/** The prefix of these answers' names in the document, before the status. */
export const PREFIX: Record<Convention, string> = { vendora: "Vendora", vendorb: "Vendorb" };

export function conventionOfPath(path: string): Convention | undefined {
  if (path.startsWith("/v1/vendora/")) return "vendora";
  return path.startsWith("/v1/vendorb/") ? "vendorb" : undefined;
}
