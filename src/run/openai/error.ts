/** Errors of OpenAI-compatible servers, in the OpenAI error format. */

import { z } from "zod";
import { unmarked } from "../../lib/exact-json.ts";
import type { Json } from "../../protocol/common.ts";
import type { OpenAiError } from "../../protocol/openai/error.ts";
import { external, Failure, sentence } from "../failure.ts";

/** Limits of texts from a container, since they become part of the prediction. */
const MAX_MESSAGE_CHARS = 2_000;
const MAX_FIELD_CHARS = 200;

export const NO_REASON_GIVEN = "The response failed without an error message.";

const optionalText = z.string().nullish().catch(null);

/** The error fields of OpenAI, TGI, TEI and FastAPI. */
const errorFields = z.object({
  message: z.string().optional().catch(undefined),
  type: optionalText,
  error_type: optionalText,
  param: optionalText,
  code: z.union([z.string(), z.number()]).nullish().catch(null),
  detail: z
    .union([
      z.string(),
      z
        .array(z.object({ loc: z.array(z.coerce.string()), msg: z.string() }))
        .transform((issues) => issues.map(({ loc, msg }) => `${loc.join(".")}: ${msg}`).join("; ")),
    ])
    .optional()
    .catch(undefined),
});

const body = z.looseObject({
  error: z.union([z.string().transform((message) => ({ message })), z.looseObject({})]).nullish(),
});

/** An error that the server reported in its own format, which means that the server is alive. */
export class ServerFailure extends Failure {
  readonly status: number;
  readonly error: OpenAiError;

  constructor(status: number, error: OpenAiError) {
    super("external", error.message, { detail: { status, error }, isQuoted: true });
    this.status = status;
    this.error = error;
  }

  /** Whether the caller is to blame; the server worked as it should. */
  get isRefusal(): boolean {
    return this.status < 500;
  }
}

/** The server did something else than respond. */
export function brokenServer(message: string): Failure {
  const error: OpenAiError = {
    message: sentence(message),
    type: "server_error",
    param: null,
    code: null,
  };
  return external(message, { detail: { status: 502, error } });
}

/**
 * Messages of vLLM, SGLang, llama.cpp, TGI, Ollama and others about a request that is longer than the model's
 * context. These servers have no code for it, and agents compact their conversation only if there is a code.
 */
const OVERFLOW =
  /context[ _-]?(?:length|size|window)|max(?:imum)?[ _]model[ _]len|(?:prompt|input)(?: \(\d+ tokens\))? (?:is )?too (?:long|large)|too many tokens|(?:prompt|input) length.* exceeds|\binputs`? (?:tokens|must have less)/i;

/** The failure in a body, whether of an HTTP error or of an event in a stream. */
export function parseFailure(value: unknown, status: number, text = ""): ServerFailure {
  const outer = body.safeParse(value).data ?? {};
  const { message, detail, type, error_type, param, code } = errorFields.parse({
    ...outer,
    ...outer.error,
  });
  const said = message || detail || text.trim() || `The container responded with ${status}.`;
  const errorMessage = unmarked(said);
  if (OVERFLOW.test(errorMessage)) {
    return new ServerFailure(400, {
      message: errorMessage.slice(0, MAX_MESSAGE_CHARS),
      type: "invalid_request_error",
      param: cut(param),
      code: "context_length_exceeded",
    });
  }
  return new ServerFailure(status, {
    message: errorMessage.slice(0, MAX_MESSAGE_CHARS),
    type: cut(type ?? error_type) ?? (status < 500 ? "invalid_request_error" : "server_error"),
    param: cut(param),
    // vLLM and llama.cpp repeat the status here.
    code: typeof code === "string" ? cut(code) : null,
  });
}

/**
 * The error in a response with status 200: `{"error": …}`, or the event `error` of a response's
 * stream.
 */
export function findFailure(value: Record<string, Json>): ServerFailure | undefined {
  const { error } = value;
  if (error !== undefined && error !== null) return parseFailure(value, statusFrom(error));
  if (value.type !== "error") return undefined;
  const { type: _, ...rest } = value;
  return parseFailure(rest, statusFrom(value));
}

/** Errors of the Anthropic convention have a type that stands for a status. */
const STATUSES: Record<string, number> = {
  invalid_request_error: 400,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  overloaded_error: 503,
};

/** Some servers put the status into the error. */
function statusFrom(error: unknown): number {
  const { code, type } = statusFields.safeParse(error).data ?? {};
  return code ?? STATUSES[type ?? ""] ?? 500;
}

const statusFields = z.object({
  code: z.int().min(400).max(599).optional().catch(undefined),
  type: z.string().optional().catch(undefined),
});

const cut = (text: string | null | undefined) =>
  (text && unmarked(text).slice(0, MAX_FIELD_CHARS)) || null;
