/** Form submissions: read, handled, or shown again with their errors. */
import { ValidationFailure } from "../domain/schemas/validation.ts";
import { ProblemError, problemStatus } from "../errors/errors.ts";
import type { ValidationIssue } from "../protocol/common.ts";
import type { PageContext } from "./context.ts";

export interface Draft {
  values?: FormData;
  issues: Record<string, string>;
  /** An error that belongs to no field. */
  problem?: string;
}

export const emptyDraft: Draft = { issues: {} };

type SubmitResult<Done> = { done: Done; draft?: undefined } | { done?: undefined; draft: Draft };

/** @throws ProblemError unsupported_media_type, bad_request for malformed form data */
export async function readForm({ req }: PageContext): Promise<FormData> {
  if (!isForm(req.header("content-type")))
    throw new ProblemError("unsupported_media_type", "This address accepts form data only.");
  return req.formData().catch((error: unknown) => {
    if (error instanceof ProblemError) throw error;
    throw new ProblemError("bad_request", "The form data is incomplete or malformed.");
  });
}

export const isForm = (type = ""): boolean =>
  /^(multipart\/form-data|application\/x-www-form-urlencoded)\b/i.test(type);

/**
 * Returns what `handle` has done, or else the form with its errors, and sets the status of the response.
 * @param handle throws ValidationFailure or ProblemError for invalid input
 */
export async function handleForm<Done>(
  c: PageContext,
  handle: (form: FormData) => Promise<Done>,
): Promise<SubmitResult<Done>> {
  const values = await readForm(c);
  try {
    return { done: await handle(values) };
  } catch (error) {
    if (error instanceof ValidationFailure) {
      c.status(422);
      return { draft: { values, ...assignIssues(error.issues, values) } };
    }
    if (error instanceof ProblemError && error.code !== "internal") {
      c.status(problemStatus(error));
      return { draft: { values, issues: {}, problem: error.message } };
    }
    throw error;
  }
}

/** Returns the text of a field; empty when the field is missing or a file. */
export function fieldText(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === "string" ? value : "";
}

/** The longest search text, as in the API. */
export const MAX_QUERY = 50;

/** All values of a field, as of checkboxes: an empty one says that there are such. */
export const fieldTexts = (form: FormData, name: string): string[] =>
  form.getAll(name).filter((value): value is string => typeof value === "string" && value !== "");

export const pickFields = (form: FormData, ...names: string[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, fieldText(form, name)]));

/** Issues by field; those of other fields are listed above the form. */
function assignIssues(issues: ValidationIssue[], form: FormData): Omit<Draft, "values"> {
  const byField: Record<string, string> = {};
  const others: string[] = [];
  for (const { loc, msg } of issues) {
    const field = loc.slice(1).find((part) => form.has(String(part)));
    if (field === undefined) others.push(`${loc.slice(1).join(".")}: ${msg}`);
    else byField[String(field)] ??= msg;
  }
  return { issues: byField, ...(others.length > 0 && { problem: others.join(". ") }) };
}
