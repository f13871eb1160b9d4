/** Shapes that every part of the API shares: identifiers, times, pages, errors. */
import { z } from "zod";

export const uuid = z.uuid();
export const timestamp = z.iso.datetime();

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/**
 * Any JSON value: what a model takes and gives. All bodies come from JSON.parse, so that only
 * absence can be wrong: walking 16 MB of output to learn that it is JSON would be work for nothing.
 */
export const json = z.custom<Json>((value) => value !== undefined, "required");

/** A slug: usernames and model names. */
export const slug = z
  .string()
  .min(1)
  .max(63)
  .regex(/^[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?$/, "lower-case letters, digits, '.', '_' and '-'");

/** `owner/name` or `owner/name:number`, as the `model` field of POST /predictions has it. */
export const modelReference = z
  .string()
  .regex(
    /^[a-z0-9._-]{1,63}\/[a-z0-9._-]{1,63}(?::[1-9]\d{0,8})?$/,
    "<model_owner>/<model_name> or <model_owner>/<model_name>:<version_number>",
  );

/** The digest of a container image, or of a model folder (process engine). */
export const digest = z.string().regex(/^sha256:[a-f0-9]{64}$/, "sha256: and 64 hex digits");

export const pageSize = (max: number) => z.coerce.number().int().min(5).max(max).default(25);

/** The envelope of every list. */
export const pageOf = <T extends z.ZodType>(item: T) =>
  z.object({
    items: z.array(item),
    next_cursor: z.string().nullable(),
    previous_cursor: z.string().nullable(),
    next_url: z.url().nullable(),
    previous_url: z.url().nullable(),
  });

/** RFC 9457, the body of every error but 422. */
export const problem = z.object({
  type: z.string(),
  title: z.string(),
  status: z.number().int(),
  detail: z.string(),
  request_id: z.string(),
});
export type Problem = z.infer<typeof problem>;

export const validationIssue = z.object({
  loc: z.array(z.string()),
  msg: z.string(),
  type: z.string(),
  input: z.unknown().optional(),
  ctx: z.record(z.string(), z.unknown()).optional(),
});
export type ValidationIssue = z.infer<typeof validationIssue>;

/** The body of a 422. */
export const validationError = z.object({ detail: z.array(validationIssue) });
