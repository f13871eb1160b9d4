/** What vendora servers say when they fail, in the errorMessage of the convention. */

import { z } from "zod";
import type { Json } from "../../../../src/protocol/common.ts";
import type { VendoraError } from "../../../../src/protocol/vendora/error.ts";
import { external, Failure } from "../../containers/failure.ts";

/** Of a text that comes from a container: it ends up in the prediction. */
const MAX_MESSAGE_CHARS = 2_000;
const MAX_FIELD_CHARS = 200;

/** Of a response that says only that it has failed. */
export const NO_REASON_GIVEN = "the response failed without saying why";

const optionalText = z.string().nullish().catch(null);

/** Theirs, TGI's and TEI's, and FastAPI's. */
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

/** What a server said instead of an answer: in its own errorMessage, so that it is alive. */
export class ServerFailure extends Failure {
  readonly status: number;
  readonly error: VendoraError;

  constructor(status: number, error: VendoraError) {
    super("external", error.message, { detail: { status, error } });
    this.status = status;
    this.error = error;
  }

  /** Whether the caller is to blame: the server did what it should. */
  get isRefusal(): boolean {
    return this.status < 500;
  }
}

/** What a server did instead of answering. */
export function brokenServer(message: string): Failure {
  const error: VendoraError = { message, type: "server_error", param: null, code: null };
  return external(message, { detail: { status: 502, error } });
}

/** The failure that a body tells of, whether an HTTP error's or one inside a stream. */
export function parseFailure(value: unknown, status: number, text = ""): ServerFailure {
  const outer = body.safeParse(value).data ?? {};
  const { message, detail, type, error_type, param, code } = errorFields.parse({
    ...outer,
    ...outer.error,
  });
  const errorMessage = message || detail || text.trim() || `the container answered ${status}`;
  return new ServerFailure(status, {
    message: errorMessage.slice(0, MAX_MESSAGE_CHARS),
    type: cut(type ?? error_type) ?? (status < 500 ? "invalid_request_error" : "server_error"),
    param: cut(param),
    // vLLM's and llama.cpp's are the status once more.
    code: typeof code === "string" ? cut(code) : null,
  });
}

/**
 * The error in an answer for which HTTP has said 200 already: the convention's `{"error": …}`, or
 * the event `error` of a response's stream.
 */
export function findFailure(value: Record<string, Json>): ServerFailure | undefined {
  const { error } = value;
  if (error !== undefined && error !== null) return parseFailure(value, statusFrom(error));
  if (value.type !== "error") return undefined;
  const { type: _, ...rest } = value;
  return parseFailure(rest, statusFrom(value));
}

/** Some say it in the error. */
function statusFrom(error: unknown): number {
  const code = z.object({ code: z.int().min(400).max(599) }).safeParse(error).data?.code;
  return code ?? 500;
}

const cut = (text: string | null | undefined) => text?.slice(0, MAX_FIELD_CHARS) || null;
