/** Checks and bounds JSON Schemas (2020-12), so that the validator only gets what it can handle safely. */
import { z } from "zod";
import { toRe2 } from "./pattern.ts";
import { isPatternFormat, patternToFormat } from "./pattern-format.ts";

/** A schema or a part of one: keywords, or `true` (accepts everything) or `false` (nothing). */
export type SchemaPart = boolean | { [keyword: string]: unknown };

/** `uniqueItems` compares all pairs: 60 ms for 1,000 objects, 2.1 s for 6,000. */
const MAX_COMPARED_ITEMS = 1_000;

/** Longer texts always match: images as data URIs are megabytes. */
const MAX_MATCHED_CHARS = 10_000;

const count = z.int().min(0);
const names = z.array(z.string());

/** The validator skips boolean parts, so its steps could not be counted; as objects they can. */
const boolean = z.boolean().transform((all) => (all ? {} : { not: true }));

const type = z.enum(["array", "boolean", "integer", "null", "number", "object", "string"]);

const pattern = z
  .string()
  .refine(isPattern, "Input should be a valid JavaScript regular expression");

/**
 * Unknown keywords are allowed and dropped.
 * @param isMatched which patterns are matched at all
 */
function shapeOf(isMatched: (pattern: string) => boolean): z.ZodType<SchemaPart> {
  const part: z.ZodType<SchemaPart> = z.lazy(() => z.union([boolean, keywords]));
  const parts = z.array(part).min(1);
  const named = z.record(z.string(), part);
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
      // A list, and additionalItems, are from older drafts: pydantic v1 uses them for tuples.
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
    .transform((keywords) => bounded(keywords, isMatched));
  return part;
}

/** Matches a longer text without reading all of it, which `minLength` would. */
const LONG = `[^]{${MAX_MATCHED_CHARS + 1}}`;

/** The service's own files are accepted as paths without an origin. */
const OWN_FILE = "/v1/(uploads|files)/";

/**
 * Parts in which a pattern is not matched, so that they accept too much. Keywords that require
 * something not to match would then reject valid inputs, and are dropped as well.
 */
const loosened = new WeakSet<object>();

/** Limits checks that take more than linear time to short values; longer ones always pass. */
function bounded(keywords: BoundedKeywords, isMatched: (pattern: string) => boolean): SchemaPart {
  const { pattern, patternProperties, format, uniqueItems, ...rest } = keywords;
  const costly: SchemaPart[] = [];
  const matched = pattern !== undefined && isMatched(pattern);
  if (matched)
    costly.push({
      if: { pattern: `^${LONG}` },
      else: { format: patternToFormat(pattern) },
    });
  if (uniqueItems) costly.push({ if: { minItems: MAX_COMPARED_ITEMS + 1 }, else: { uniqueItems } });
  // The validator's non-standard `url` format takes exponential time.
  if (format === "uri" || format === "url")
    costly.push({ if: { pattern: `^(?:${OWN_FILE}|${LONG})` }, else: { format: "uri" } });
  else if (format !== undefined && !isPatternFormat(format)) rest.format = format;
  const named = patternProperties && Object.keys(patternProperties).every(isMatched);
  // If a pattern is not matched, it is unknown which names it covers: all are accepted.
  if (named) rest.patternProperties = patternProperties;
  else if (patternProperties) {
    rest.additionalProperties = {};
    delete rest.unevaluatedProperties;
  }
  const isLoose = Object.values(rest).some(hasLoosened);
  if (isLoose) loosen(rest);
  const allOf = [...(rest.allOf ?? []), ...costly];
  const whole = allOf.length > 0 ? { ...rest, allOf } : rest;
  if (isLoose || (pattern !== undefined && !matched) || named === false) loosened.add(whole);
  return whole;
}

/** @param value a part, or a list or record of parts */
const hasLoosened = (value: unknown): boolean =>
  typeof value === "object" &&
  value !== null &&
  [value, ...Object.values(value)].some((one) => loosened.has(one));

function loosen(part: BoundedKeywords): void {
  if (hasLoosened(part.not)) delete part.not;
  if (hasLoosened(part.if)) for (const keyword of ["if", "then", "else"]) delete part[keyword];
  if (hasLoosened(part.contains)) delete part.maxContains;
  if (!hasLoosened(part.oneOf)) return;
  part.allOf = [...(part.allOf ?? []), { anyOf: part.oneOf }];
  delete part.oneOf;
}

interface BoundedKeywords {
  [keyword: string]: unknown;
  pattern?: string | undefined;
  patternProperties?: Record<string, SchemaPart> | undefined;
  format?: string | undefined;
  uniqueItems?: boolean | undefined;
  allOf?: SchemaPart[] | undefined;
}

function isPattern(text: string): boolean {
  try {
    return new RegExp(text, "u") !== undefined;
  } catch {
    return false;
  }
}

/** A copy for validating inputs, equivalent to the schema except for the limits above. */
export const boundedSchema = shapeOf((pattern) => toRe2(pattern) !== undefined);

/** For browsers, without patterns: their engine is larger than a whole page. */
export const browserSchema = shapeOf(() => false);
