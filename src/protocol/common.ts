/** Shapes that every part of the API shares: identifiers, times, pages, errors. */
import { z } from "zod";
import type { Json } from "../lib/json.ts";

export const uuid = z.uuid();
export const timestamp = z.iso.datetime();

/** A web address. That it is one the document says with a pattern: `format` allows any scheme. */
export const link = z
  .url({ protocol: /^https?$/ })
  .max(2_048)
  .meta({ pattern: "^https?:" });

/** A named schema, or null: a union, since `nullable` of a `$ref` says neither in OpenAPI. */
export const orNull = <T extends z.ZodType>(schema: T) => z.union([schema, z.null()]);

export type { Json };

/**
 * Any JSON value: what a model takes and gives. All bodies come from JSON.parse, so that only
 * absence can be wrong: walking 16 MB of output to learn that it is JSON would be work for nothing.
 */
export const json = z
  .custom<Json>((value) => value !== undefined, "required")
  .meta({
    id: "Json",
    description: "Any JSON value",
    type: ["string", "number", "boolean", "null", "array", "object"],
    // Without these, generators of clients take it for an empty list and an empty object.
    items: {},
    additionalProperties: {},
  });

/** A record of such values, as it came: `z.record` leaves out a property named `__proto__`. */
export const jsonObject = z
  .custom<{ [name: string]: Json }>()
  .check(({ value, issues }) => {
    if (typeof value !== "object" || value === null || Array.isArray(value))
      issues.push({ code: "invalid_type", expected: "record", input: value });
  })
  .meta({ type: "object", additionalProperties: { $ref: "#/components/schemas/Json" } });

/** A slug: usernames and model names. As a repository's path has it, since images lie below them. */
export const slug = z
  .string()
  .min(1)
  .max(63)
  .regex(
    /^[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*$/,
    "lower-case letters and digits, with '.', '_' or '-' between them",
  );

/** `owner/name` or `owner/name:number`, as the `model` field of POST /predictions has it. */
export const modelReference = z
  .string()
  .regex(
    /^[a-z0-9._-]{1,63}\/[a-z0-9._-]{1,63}(?::[1-9]\d{0,8})?$/,
    "<model_owner>/<model_name> or <model_owner>/<model_name>:<version_number>",
  );

/** A repository of images: a registry and a path, without tag and digest. */
export const repository = z
  .string()
  .max(255)
  .regex(
    /^(?:[a-zA-Z0-9.-]+(?::\d{1,5})?\/)?[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*)*$/,
    "a repository without a tag, as in ghcr.io/ada/story",
  );

/** The digest of a container image, or of a model folder (process engine). */
export const digest = z.string().regex(/^sha256:[a-f0-9]{64}$/, "sha256: and 64 hex digits");

/** A whole number in an address: digits and nothing else, which coercion is too kind for. */
export const integerText = (min: number, max: number) =>
  z.preprocess(
    (value) => (typeof value === "string" && /^-?\d{1,15}$/.test(value) ? Number(value) : value),
    z.int().min(min).max(max),
  );

/** A query parameter that may be given several times. */
export const repeated = <T extends z.ZodType>(item: T, max: number) =>
  z
    .preprocess((value) => (typeof value === "string" ? [value] : value), z.array(item).max(max))
    .default([]);

/** The query parameters of every list. Without a filter that is misspelt it would be a list of all. */
export const pageQuery = (max = 50) =>
  z.strictObject({
    cursor: z.string().max(1_000).optional().meta({
      description: "`next_cursor` or `previous_cursor` of a page, unchanged",
    }),
    page_size: integerText(5, max).default(25).meta({ description: "Items on a page" }),
  });

export const sortDirection = z.enum(["asc", "desc"]).default("asc");

/** What is searched for. */
export const searchQuery = pageQuery().extend({
  q: z
    .string()
    .min(1)
    .max(50)
    .meta({ description: "Words, or beginnings of words", example: "whisper" }),
});

/** The body of an answer that has nothing to say. */
export const nothing = z.object({}).meta({ id: "Nothing", description: "An empty object" });

/** The envelope of every list. */
export const pageOf = <T extends z.ZodType>(item: T) =>
  z.object({
    items: z.array(item),
    next_cursor: z.string().nullable().meta({
      description: "Asks for the page after this one; null at the end of the list",
      example: "MDE5ODBjM2U",
    }),
    previous_cursor: z.string().nullable().meta({
      description: "Asks for the page before this one; null at the beginning",
      example: null,
    }),
    next_url: z.url().nullable().meta({
      description: "The whole address of the page after this one",
      example: "https://auspex.example.com/v1/models?cursor=MDE5ODBjM2U",
    }),
    previous_url: z.url().nullable().meta({
      description: "The whole address of the page before this one",
      example: null,
    }),
  });

/** RFC 9457, the body of every error but 422. */
export const problem = z
  .object({
    type: z.string().meta({ description: "Names the kind of problem, for programs" }),
    title: z.string().meta({ description: "The kind of problem, for people" }),
    status: z.int().meta({ description: "The HTTP status" }),
    detail: z.string().meta({ description: "What is wrong, and what to do" }),
    request_id: z.string().meta({ description: "As in the header `x-request-id`" }),
  })
  .meta({ id: "Problem", description: "Every error but a 422 (RFC 9457)" });
export type Problem = z.infer<typeof problem>;

export const validationIssue = z
  .object({
    loc: z.array(z.string()).meta({
      description: "Where: `body`, `query`, `path` or `header`, then the way to the value",
    }),
    msg: z.string().meta({ description: "What is wrong, for people" }),
    type: z.string().meta({ description: "What is wrong, for programs" }),
    input: z.unknown().optional().meta({ description: "The value, where it is small" }),
    ctx: z.record(z.string(), z.unknown()).optional().meta({ description: "The limits it broke" }),
  })
  .meta({ id: "ValidationIssue" });
export type ValidationIssue = z.infer<typeof validationIssue>;

/** The body of a 422. */
export const validationError = z
  .object({ detail: z.array(validationIssue) })
  .meta({ id: "ValidationError", description: "What is wrong with a request, all of it" });
