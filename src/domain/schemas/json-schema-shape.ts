/** The shape of a JSON Schema (2020-12), so that only what the validator can work with reaches it. */
import { z } from "zod";
import { toRe2 } from "./pattern.ts";
import { isPatternFormat, patternToFormat } from "./pattern-format.ts";

/** A schema, or a part of one: an object of keywords; `true` fits all, `false` nothing. */
export type SchemaPart = boolean | { [keyword: string]: unknown };

/** All pairs are compared: 60 ms for 1,000 objects, 2.1 s for 6,000. */
const MAX_COMPARED_ITEMS = 1_000;

/** Longer texts count as fitting: pictures as data URIs are megabytes. */
const MAX_TRIED_CHARS = 10_000;

const count = z.int().min(0);
const names = z.array(z.string());

/** The validator does not look into these, so its visits could not be counted; here they can. */
const boolean = z.boolean().transform((all) => (all ? {} : { not: true }));

const type = z.enum(["array", "boolean", "integer", "null", "number", "object", "string"]);

const pattern = z.string().refine(isPattern, "It should be a regular expression of JavaScript");

/**
 * Other keywords are allowed and left out: nothing holds an input against them.
 * @param isTried which patterns something is held against
 */
function shapeOf(isTried: (pattern: string) => boolean): z.ZodType<SchemaPart> {
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
    .transform((keywords) => bounded(keywords, isTried));
  return part;
}

/** A text that is longer: looked at no further than that, as `minLength` would. */
const LONG = `[^]{${MAX_TRIED_CHARS + 1}}`;

/** Where the service has files, uploads and those of predictions: it knows them by their paths alone. */
const OWN_FILE = "/v1/(uploads|files)/";

/**
 * Parts that leave out a pattern that is never tried, so that all fits there. What asks for
 * something not to fit would then refuse what is right.
 */
const loosened = new WeakSet<object>();

/** What takes more than linear time, only where it is short: longer values count as fitting. */
function bounded(keywords: BoundedKeywords, isTried: (pattern: string) => boolean): SchemaPart {
  const { pattern, patternProperties, format, uniqueItems, ...rest } = keywords;
  const costly: SchemaPart[] = [];
  const tried = pattern !== undefined && isTried(pattern);
  if (tried)
    costly.push({
      if: { pattern: `^${LONG}` },
      else: { format: patternToFormat(pattern) },
    });
  if (uniqueItems) costly.push({ if: { minItems: MAX_COMPARED_ITEMS + 1 }, else: { uniqueItems } });
  // The validator's own `url`, which is of no draft, takes exponential time.
  if (format === "uri" || format === "url")
    costly.push({ if: { pattern: `^(?:${OWN_FILE}|${LONG})` }, else: { format: "uri" } });
  else if (format !== undefined && !isPatternFormat(format)) rest.format = format;
  const named = patternProperties && Object.keys(patternProperties).every(isTried);
  // Where one is not tried, which names are known cannot be told: then all are.
  if (named) rest.patternProperties = patternProperties;
  else if (patternProperties) {
    rest.additionalProperties = {};
    delete rest.unevaluatedProperties;
  }
  const isLoose = Object.values(rest).some(hasLoosened);
  if (isLoose) loosen(rest);
  const allOf = [...(rest.allOf ?? []), ...costly];
  const whole = allOf.length > 0 ? { ...rest, allOf } : rest;
  if (isLoose || (pattern !== undefined && !tried) || named === false) loosened.add(whole);
  return whole;
}

/** A part, or a list or record of parts. */
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

/** Gives a copy to hold inputs against: what it allows is the same, but for the bounds above. */
export const boundedSchema = shapeOf((pattern) => toRe2(pattern) !== undefined);

/** The same for browsers: the engine that tries patterns weighs more than all of a page. */
export const browserSchema = shapeOf(() => false);
