/** Shapes shared by the whole API: identifiers, timestamps, pages, errors. */
import { z } from "zod";
import { numberIn } from "../lib/exact-json.ts";
import type { Json } from "../lib/json.ts";
import { UNSEEN } from "../lib/text.ts";

/** UUIDs are compared without case, as RFC 9562 says. */
export const uuid = z.uuid().toLowerCase();
export const timestamp = z.iso.datetime();

/** An http(s) URL. The document states this as a pattern, since `format: uri` allows any scheme. */
export const link = z
  .url({ protocol: /^https?$/ })
  .max(2_048)
  .meta({ pattern: "^https?:" });

/** A named schema or null. A union, since OpenAPI cannot make a `$ref` nullable. */
export const orNull = <T extends z.ZodType>(schema: T) => z.union([schema, z.null()]);

/** A text of a body that null clears. */
export const clearable = (max: number) =>
  z
    .string()
    .max(max)
    .nullable()
    .transform((text) => text ?? "");

/** An optional field of a body. Clients that know no absent fields send null. */
export const absentIfNull = <T extends z.ZodType>(schema: T) =>
  orNull(schema)
    .transform((value) => value ?? undefined)
    .optional();

export type { Json };

/**
 * Any JSON value: a model's input or output. Bodies come from JSON.parse, so the only possible error is
 * a missing value: walking 16 MB of output to confirm that it is JSON would be wasted work.
 */
export const json = z
  .custom<Json>((value) => value !== undefined, "required")
  .meta({
    id: "Json",
    description: "Any JSON value",
    type: ["string", "number", "boolean", "null", "array", "object"],
    // Without these, client generators read it as an empty list and an empty object.
    items: {},
    additionalProperties: {},
  });

/** A number, also one that has kept its digits (lib/exact-json.ts). */
export const exactNumber = z.custom<Json>((value) => numberIn(value) !== undefined, "number");

/** An object of JSON values, unchanged: `z.record` drops a property named `__proto__`. */
export const jsonObject = z
  .custom<{ [name: string]: Json }>()
  .check(({ value, issues }) => {
    if (typeof value !== "object" || value === null || Array.isArray(value))
      issues.push({ code: "invalid_type", expected: "record", input: value });
  })
  .meta({ type: "object", additionalProperties: { $ref: "#/components/schemas/Json" } });

/** Objects by name. Of 500,000 that are none, only the first is an issue. */
export const jsonObjects = z
  .custom<{ [name: string]: { [name: string]: Json } }>()
  .check(({ value, issues }) => {
    const all = jsonObject.safeParse(value).data;
    if (!all) issues.push({ code: "invalid_type", expected: "record", input: value });
    const wrong = Object.entries(all ?? {}).find(([, one]) => !jsonObject.safeParse(one).success);
    if (wrong)
      issues.push({ code: "invalid_type", expected: "record", input: wrong[1], path: [wrong[0]] });
  })
  .meta({
    type: "object",
    additionalProperties: {
      type: "object",
      additionalProperties: { $ref: "#/components/schemas/Json" },
    },
  });

/** Usernames and model names. They follow the rules of registry paths, since images are stored below them. */
const SLUG = /^[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*$/;
const SLUG_RULE = "Use lower-case letters and digits, with '.', '_' or '-' between them";
export const slug = z.string().min(1).max(63).regex(SLUG, SLUG_RULE);

/** The name of a user or a model as a segment of a path. In upper case it names nothing: a 404. */
export const slugInPath = z
  .string()
  .min(1)
  .max(63)
  .regex(new RegExp(SLUG, "i"), SLUG_RULE)
  .meta({ pattern: SLUG.source });

/** `owner/name` or `owner/name:number`, as in the `model` field of POST /predictions. */
export const modelReference = z
  .string()
  .regex(
    /^[a-z0-9._-]{1,63}\/[a-z0-9._-]{1,63}(?::[1-9]\d{0,8})?$/,
    "Use owner/name, or owner/name:3 for version 3",
  );

export interface ModelName {
  owner: string;
  name: string;
  version: number | undefined;
}

/** Reads a reference to a model or version. @returns undefined for any other text */
export function readModelReference(text: string): ModelName | undefined {
  if (!modelReference.safeParse(text).success) return undefined;
  const [path = "", version] = text.split(":");
  const [owner = "", name = ""] = path.split("/");
  return { owner, name, version: version === undefined ? undefined : Number(version) };
}

/** An image repository: a registry and a path, without tag or digest. */
export const repository = z
  .string()
  .max(255)
  .regex(
    /^(?:[a-zA-Z0-9.-]+(?::\d{1,5})?\/)?[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*)*$/,
    "Use a repository without a tag, such as ghcr.io/ada/story",
  );

/** The digest of a container image, or of a model folder for the process engine. */
export const digest = z
  .string()
  .regex(/^sha256:[a-f0-9]{64}$/, "Use sha256: followed by 64 hex digits");

/** An integer in a URL. Only digits: coercion would accept more. */
export const integerText = (min: number, max: number) =>
  z.preprocess(
    (value) => (typeof value === "string" && /^-?\d{1,15}$/.test(value) ? Number(value) : value),
    z.int().min(min).max(max),
  );

/** A query parameter that can be repeated. */
export const repeated = <T extends z.ZodType>(item: T, max: number) =>
  z
    .preprocess((value) => (typeof value === "string" ? [value] : value), z.array(item).max(max))
    .default([]);

/** Opaque text that says where a list goes on. Clients that build URLs send an empty one for none. */
export const cursorText = (max: number) =>
  z.preprocess((value) => (value === "" ? undefined : value), z.string().max(max).optional());

/** The query parameters of every list. Strict: ignoring a misspelt filter would return everything. */
export const pageQuery = (max = 50) =>
  z.strictObject({
    cursor: cursorText(1_000).meta({
      description: "The `next_cursor` or `previous_cursor` of another page",
    }),
    page_size: integerText(5, max).default(25).meta({ description: "Number of items per page" }),
  });

export const sortDirection = z.enum(["asc", "desc"]).default("asc");

export const searchQuery = pageQuery().extend({
  q: z
    .string()
    .min(1)
    .max(50)
    .meta({ description: "Words or prefixes of words", example: "whisper" }),
});

export const nothing = z.object({}).meta({ id: "Nothing", description: "An empty object" });

/** The envelope of every list. */
export const pageOf = <T extends z.ZodType>(item: T) =>
  z.object({
    items: z.array(item),
    next_cursor: z.string().nullable().meta({
      description: "Cursor for the next page; null at the end of the list",
      example: "MDE5ODBjM2U",
    }),
    previous_cursor: z.string().nullable().meta({
      description: "Cursor for the previous page; null at the beginning of the list",
      example: null,
    }),
    next_url: z.url().nullable().meta({
      description: "URL of the next page",
      example: "https://auspex.example.com/v1/models?cursor=MDE5ODBjM2U",
    }),
    previous_url: z.url().nullable().meta({
      description: "URL of the previous page",
      example: null,
    }),
  });

/** The body of every error except 422 (RFC 9457). */
export const problem = z
  .object({
    type: z.string().meta({ description: "Type of problem" }),
    title: z.string().meta({ description: "Short summary of the type" }),
    status: z.int().meta({ description: "HTTP status code" }),
    detail: z.string().meta({ description: "What went wrong in this case and how to fix it" }),
    request_id: z.string().meta({ description: "The same as the `x-request-id` header" }),
  })
  .meta({ id: "Problem", description: "The body of every error except 422 (RFC 9457)" });
export type Problem = z.infer<typeof problem>;

export const validationIssue = z
  .object({
    loc: z.array(z.string()).meta({
      description: "Location: `body`, `query`, `path` or `header`, then the path to the value",
    }),
    msg: z.string().meta({ description: "Human-readable message" }),
    type: z.string().meta({ description: "Machine-readable type of error" }),
    input: z.unknown().optional().meta({ description: "The invalid value, if it is small" }),
    ctx: z
      .record(z.string(), z.unknown())
      .optional()
      .meta({ description: "Values used in the message, such as the violated limit" }),
  })
  .meta({ id: "ValidationIssue" });
export type ValidationIssue = z.infer<typeof validationIssue>;

/** The body of a 422. */
export const validationError = z
  .object({ detail: z.array(validationIssue) })
  .meta({ id: "ValidationError", description: "All validation errors of a request" });

/** A name that a user chooses and others see, without characters that falsify the text around it. */
export const shownText = (most: number) =>
  z
    .string()
    .max(most)
    .overwrite((text) => text.replace(UNSEEN, ""));

/** Priorities, from the one that runs last to the one that runs first. */
export const PRIORITIES = ["low", "normal", "high"] as const;

export const priority = z.enum(PRIORITIES).meta({
  id: "Priority",
  description:
    "Higher-priority predictions of any account run first. `low` becomes `normal` after 10 minutes in the queue",
});
export type Priority = z.infer<typeof priority>;

export const DEFAULT_PRIORITY: Priority = "normal";
