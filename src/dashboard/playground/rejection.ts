/** Maps a rejected prediction to errors of the form. */
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { fieldMessages } from "../../domain/schemas/input-form-check.ts";
import { ValidationFailure } from "../../domain/schemas/validation.ts";
import { ProblemError, problemStatus } from "../../errors.ts";
import { JSON_FIELD } from "./control-names.ts";
import { byControl, type PlaygroundInput } from "./input.ts";

/** @throws errors that the input did not cause */
export function rejectionOf(
  error: unknown,
  form: PlaygroundInput,
): { form: PlaygroundInput; problem?: string; status: ContentfulStatusCode } {
  if (error instanceof ProblemError && error.code !== "internal") {
    return { form, problem: error.message, status: problemStatus(error) };
  }
  if (!(error instanceof ValidationFailure)) throw error;
  const messages = fieldMessages(error.issues);
  const issues = form.asJson
    ? { [JSON_FIELD]: joinMessages(messages) }
    : byControl(form.fields, messages);
  const known = new Set(form.fields.map(({ name }) => name));
  const others = new Map([...messages].filter(([name]) => !known.has(name)));
  return {
    form: { ...form, issues },
    ...(!form.asJson && others.size > 0 && { problem: joinMessages(others) }),
    status: 422,
  };
}

const joinMessages = (messages: Map<string, string>) =>
  [...messages].map(([name, message]) => (name ? `${name}: ${message}` : message)).join(". ");
