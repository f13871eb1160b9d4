/** The shape of a JSON Schema (2020-12), so that only what the validator can work with reaches it. */
import { z } from "zod";

/** A schema, or a part of one: an object of keywords; `true` fits all, `false` nothing. */
export type Part = boolean | { [keyword: string]: unknown };

/**
 * What an ordinary pattern costs is at worst the cube of the text's length: 0.3 s for 1,000 characters.
 * One that is made to take exponential time still does; safe-regex2 refuses half of those, and
 * with them `^\d+(\.\d+)?$` and all slugs.
 */
const MAX_TRIED_CHARS = 1_000;

/** All pairs are compared: 60 ms for 1,000 objects, 2.1 s for 6,000. */
const MAX_COMPARED_ITEMS = 1_000;

const part: z.ZodType<Part> = z.lazy(() => z.union([boolean, keywords]));
const parts = z.array(part).min(1);
const named = z.record(z.string(), part);
const count = z.int().min(0);
const names = z.array(z.string());

/** The validator does not look into `false`, so its visits could not be counted; they can here. */
const boolean = z.boolean().transform((all) => all || { not: true });

const type = z.enum(["array", "boolean", "integer", "null", "number", "object", "string"]);

const pattern = z.string().refine(isPattern, "It should be a regular expression of JavaScript");

/** Other keywords are allowed and left out: nothing holds an input against them. */
const keywords = z
  .object({
    $id: z.string(),
    $anchor: z.string(),
    $ref: z.string(),
    $defs: named,
    definitions: named,
    // Where OpenAPI has them, and so Cog: a schema that was cut out of one brings them along.
    components: z.object({ schemas: named }),
    type: z.union([type, z.array(type).min(1)]),
    const: z.unknown(),
    enum: z.array(z.unknown()),
    allOf: parts,
    anyOf: parts,
    oneOf: parts,
    not: part,
    if: part,
    // biome-ignore lint/suspicious/noThenProperty: a keyword, of a schema that nobody awaits.
    then: part,
    else: part,
    format: z.string(),
    properties: named,
    patternProperties: z.record(pattern, part),
    additionalProperties: part,
    unevaluatedProperties: part,
    propertyNames: part,
    required: names,
    dependentRequired: z.record(z.string(), names),
    dependentSchemas: named,
    minProperties: count,
    maxProperties: count,
    prefixItems: parts,
    // A list, and additionalItems, are of older drafts: pydantic v1 writes tuples so.
    items: z.union([part, z.array(part)]),
    additionalItems: part,
    unevaluatedItems: part,
    contains: part,
    minContains: count,
    maxContains: count,
    minItems: count,
    maxItems: count,
    uniqueItems: z.boolean(),
    minimum: z.number(),
    maximum: z.number(),
    exclusiveMinimum: z.number(),
    exclusiveMaximum: z.number(),
    multipleOf: z.number().positive(),
    minLength: count,
    maxLength: count,
    pattern,
  })
  .partial()
  .transform(bounded);

/** What takes more than linear time, only where it is short: longer values count as fitting. */
function bounded({ pattern, uniqueItems, ...rest }: BoundedKeywords): Part {
  const costly = [];
  if (pattern !== undefined)
    costly.push({ if: { minLength: MAX_TRIED_CHARS + 1 }, else: { pattern } });
  if (uniqueItems) costly.push({ if: { minItems: MAX_COMPARED_ITEMS + 1 }, else: { uniqueItems } });
  return costly.length > 0 ? { ...rest, allOf: [...(rest.allOf ?? []), ...costly] } : rest;
}

interface BoundedKeywords {
  [keyword: string]: unknown;
  pattern?: string | undefined;
  uniqueItems?: boolean | undefined;
  allOf?: Part[] | undefined;
}

function isPattern(text: string): boolean {
  try {
    return new RegExp(text, "u") !== undefined;
  } catch {
    return false;
  }
}

/** Gives a copy to hold inputs against: what it allows is the same, but for the bounds above. */
export const schemaShape = part;
