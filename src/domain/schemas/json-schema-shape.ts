/** The shape of JSON Schemas (2020-12), and all keywords that are checked. */
import { z } from "zod";

/** A schema or a part of one: keywords, or `true` (accepts everything) or `false` (nothing). */
export type SchemaPart = boolean | Keywords;

export interface Keywords extends z.output<typeof keywords> {}

const part: z.ZodType<SchemaPart> = z.lazy(() => z.union([z.boolean(), keywords]));
const parts = z.array(part).min(1);
const named = z.record(z.string(), part);
const names = z.array(z.string());
const count = z.int().min(0);
const type = z.enum(["array", "boolean", "integer", "null", "number", "object", "string"]);
const pattern = z
  .string()
  .refine(isPattern, "Input should be a valid JavaScript regular expression");

/** The keywords of a part. Unknown keywords are allowed and dropped. */
const keywords = z
  .object({
    $id: z.string(),
    $anchor: z.string(),
    $ref: z.string(),
    $defs: named,
    definitions: named,
    // OpenAPI's place for definitions, which Cog uses.
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
    // Older drafts have a list, and additionalItems: pydantic v1 uses them for tuples.
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
  .partial();

export const schemaShape = part;

function isPattern(text: string): boolean {
  try {
    return new RegExp(text, "u") !== undefined;
  } catch {
    return false;
  }
}
