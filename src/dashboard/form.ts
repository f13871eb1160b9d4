/** A form that was sent: read, carried out, or shown again with what is wrong. */
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { ValidationFailure } from "../domain/schemas/validation.ts";
import { ProblemError, problemStatus } from "../errors.ts";
import type { ValidationIssue } from "../protocol/common.ts";
import type { PageContext } from "./context.ts";

/** What was typed, and what is wrong with it. */
export interface Draft {
  values?: FormData;
  /** By the name of the field. */
  issues: Record<string, string>;
  /** What is wrong with no field in particular. */
  problem?: string;
}

export const emptyDraft: Draft = { issues: {} };

type SubmitResult<Done> =
  | { done: Done; draft?: undefined; status?: undefined }
  | { done?: undefined; draft: Draft; status: ContentfulStatusCode };

/** @throws ProblemError unsupported_media_type, bad_request for what is no form */
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

/** @param run is given the form, and throws ValidationFailure or ProblemError for what is wrong. */
export async function handleForm<Done>(
  c: PageContext,
  run: (form: FormData) => Promise<Done>,
): Promise<SubmitResult<Done>> {
  const values = await readForm(c);
  try {
    return { done: await run(values) };
  } catch (error) {
    if (error instanceof ValidationFailure) {
      return { draft: { values, ...assignIssues(error.issues, values) }, status: 422 };
    }
    if (error instanceof ProblemError && error.code !== "internal") {
      return {
        draft: { values, issues: {}, problem: error.message },
        status: problemStatus(error),
      };
    }
    throw error;
  }
}

/** The text of a field; empty when it was not sent, or is a file. */
export function fieldText(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === "string" ? value : "";
}

/** Each that was ticked. */
export const fieldTexts = (form: FormData, name: string): string[] =>
  form.getAll(name).filter((value) => typeof value === "string");

/** All fields that are text, as an object to be checked with a schema. */
export const pickFields = (form: FormData, ...names: string[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, fieldText(form, name)]));

/** Issues at the fields that they are about; those about something else are said above the form. */
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
