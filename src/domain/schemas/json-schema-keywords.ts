/**
 * The requirements of each keyword on a value. The validator charges a keyword before it is checked: for its
 * own size, and for the text, items or names of a value of its type. Further reads of a check go through
 * `Visit`, which charges them as well.
 */
import { format as formats } from "@cfworker/json-schema";
import { isObject } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import type { Keywords } from "./json-schema-shape.ts";
import type { Visit } from "./json-schema-visit.ts";
import {
  type Fault,
  fault,
  formatAlternatives,
  type IssueType,
  shortened,
  wrongType,
} from "./validation.ts";

/** The most items that `uniqueItems` compares: objects and lists are compared in pairs. */
const MAX_COMPARED_ITEMS = 1_000;

/** The longest text whose format and pattern are checked: images as data URIs are megabytes. */
const MAX_MATCHED_CHARS = 10_000;

const FORMATS = new Map<string, IssueType>([
  ["date", "date_parsing"],
  ["date-time", "datetime_parsing"],
  ["time", "time_parsing"],
  ["uri", "url_parsing"],
  ["uuid", "uuid_parsing"],
]);

/** The paths of the service's own files, which are accepted without an origin. */
const OWN_FILE = /^\/v1\/(?:uploads|files)\//;

/** Keywords that need no check of their own: definitions, and those that other keywords read. */
type Unchecked =
  | ("$id" | "$anchor" | "$defs" | "definitions" | "components")
  | ("then" | "else" | "minContains" | "maxContains");

export type Keyword = Exclude<keyof Keywords, Unchecked>;
type Limit<Name extends Keyword> = Keywords[Name] & (NonNullable<unknown> | null);

interface Check<Name extends Keyword> {
  /** Whether the value has the keyword's type, and so counts toward its cost. */
  takes(value: Json): boolean;
  /** Checks a value. Values of other types always pass. */
  check(limit: Limit<Name>, visit: Visit, value: Json): void;
}

const ofType =
  <Value extends Json>(takes: (value: Json) => value is Value) =>
  <Name extends Keyword>(
    check: (limit: Limit<Name>, visit: Visit, value: Value) => void,
  ): Check<Name> => ({
    takes,
    check: (limit, visit, value) => {
      if (takes(value)) check(limit, visit, value);
    },
  });

type Properties = { [name: string]: Json };

const ofNumber = ofType((value) => typeof value === "number");
const ofString = ofType((value) => typeof value === "string");
const ofList = ofType((value): value is Json[] => Array.isArray(value));
const ofObject = ofType((value): value is Properties => isObject(value));

/** A check of any value, which reads the value only through `Visit`. */
const ofAny = <Name extends Keyword>(
  check: (limit: Limit<Name>, visit: Visit) => void,
): Check<Name> => ({ takes: () => false, check });

const bound = <Name extends Keyword>(
  isMet: (value: number, limit: Limit<Name>) => boolean,
  faultOf: (limit: Limit<Name>) => Fault,
) =>
  ofNumber<Name>((limit, visit, value) => {
    if (!isMet(value, limit)) visit.fail(faultOf(limit));
  });

/** The checks in the order in which their issues are listed. */
export const CHECKS: { [Name in Keyword]: Check<Name> } = {
  $ref: ofAny((_, visit) => visit.acceptAll([visit.againstReference()])),
  type: ofAny((limit, visit) => {
    const types = [limit].flat();
    if (types.some((type) => hasType(visit.value, type))) return;
    const faults = types.map((type) => wrongType(type, visit.value));
    const msg = faults.map((one) => one.msg).join(", or: ");
    visit.fail({ type: "value_error", ...faults[0], msg });
  }),
  const: ofAny((limit, visit) => {
    if (!visit.isEqual(visit.value, limit))
      visit.fail(fault("literal_error", { expected: formatAlternatives([limit]) }));
  }),
  enum: ofAny((limit, visit) => {
    if (!limit.some((one) => visit.isEqual(visit.value, one)))
      visit.fail(fault("enum", { expected: formatAlternatives(limit) }));
  }),
  not: ofAny((limit, visit) => {
    const found = visit.against(limit);
    if (!found.isValid) return;
    if (found.isCertain) visit.fail(failure("Input matches the schema under 'not'"));
    else visit.isCertain = false;
  }),
  anyOf: ofAny((limit, visit) => {
    const found = limit.map((part) => visit.against(part));
    const valid = found.filter(({ isValid }) => isValid);
    if (valid.length === 0) return visit.failAsLikeliest(found);
    const certain = valid.filter(({ isCertain }) => isCertain);
    visit.acceptAll(certain.length > 0 ? certain : valid);
    // An undecided branch marks the names that it accepts as evaluated, too.
    for (const one of valid) visit.markAll(one);
  }),
  allOf: ofAny((limit, visit) => visit.acceptAll(limit.map((part) => visit.against(part)))),
  oneOf: ofAny((limit, visit) => {
    const found = limit.map((part) => visit.against(part));
    const valid = found.filter(({ isValid }) => isValid);
    const certain = valid.filter(({ isCertain }) => isCertain);
    if (valid.length === 0) return visit.failAsLikeliest(found);
    if (certain.length > 1)
      return visit.fail(
        failure(
          `Input should match exactly one schema under 'oneOf', but matches ${certain.length}`,
        ),
      );
    visit.acceptAll(valid);
    if (valid.length > 1) visit.isCertain = false;
  }),
  if: ofAny((limit, visit) => {
    const { then: whenMet = true, else: otherwise = true } = visit.part;
    const condition = visit.against(limit);
    if (!condition.isValid) return visit.acceptAll([visit.against(otherwise)]);
    visit.acceptAll([condition]);
    if (condition.isCertain) visit.acceptAll([visit.against(whenMet)]);
  }),

  required: ofObject((limit, visit, value) => {
    for (const name of limit) if (!Object.hasOwn(value, name)) visit.fail(fault("missing"), name);
  }),
  minProperties: ofObject((limit, visit) => {
    if (visit.names.length < limit)
      visit.fail(fault("too_short", { field_type: "Dictionary", min_length: limit }));
  }),
  maxProperties: ofObject((limit, visit) => {
    if (visit.names.length > limit)
      visit.fail(fault("too_long", { field_type: "Dictionary", max_length: limit }));
  }),
  propertyNames: ofObject((limit, visit) => {
    for (const name of visit.names) {
      const found = visit.againstName(limit, name);
      if (!found.isValid) visit.fail(failure(`'${shortened(name)}' is not an allowed name`));
      else visit.isCertain &&= found.isCertain;
    }
  }),
  dependentRequired: ofObject((limit, visit, value) => {
    for (const [name, needed] of Object.entries(limit)) {
      if (!Object.hasOwn(value, name)) continue;
      for (const other of needed)
        if (!Object.hasOwn(value, other))
          visit.fail(failure(`'${shortened(other)}' is required with '${shortened(name)}'`));
    }
  }),
  dependentSchemas: ofObject((limit, visit, value) => {
    for (const [name, part] of Object.entries(limit))
      if (Object.hasOwn(value, name)) visit.acceptAll([visit.against(part)]);
  }),
  properties: ofObject((limit, visit, value) => {
    for (const [name, part] of Object.entries(limit))
      if (Object.hasOwn(value, name)) visit.below(name, part);
  }),
  patternProperties: ofObject((limit, visit) => {
    for (const [pattern, part] of Object.entries(limit)) {
      for (const name of visit.names) {
        const isMatched = visit.matches(pattern, name);
        if (isMatched === false) continue;
        visit.patterned.add(name);
        // An undecided name counts as matched and its value as valid.
        visit.below(name, isMatched === undefined || part);
      }
    }
  }),
  additionalProperties: ofObject((limit, visit) => {
    const { properties = {} } = visit.part;
    for (const name of visit.names)
      if (!Object.hasOwn(properties, name) && !visit.patterned.has(name)) visit.below(name, limit);
  }),
  unevaluatedProperties: ofObject((limit, visit) => {
    for (const name of visit.names) if (!visit.isMarked(name)) visit.below(name, limit);
  }),

  maxItems: ofList((limit, visit, value) => {
    if (value.length > limit)
      visit.fail(fault("too_long", { field_type: "List", max_length: limit }));
  }),
  minItems: ofList((limit, visit, value) => {
    if (value.length < limit)
      visit.fail(fault("too_short", { field_type: "List", min_length: limit }));
  }),
  prefixItems: ofList((limit, visit, value) => {
    for (const [n, part] of limit.slice(0, value.length).entries()) visit.below(n, part);
  }),
  items: ofList((limit, visit, value) => {
    if (Array.isArray(limit))
      for (const [n, part] of limit.slice(0, value.length).entries()) visit.below(n, part);
    else
      for (let n = visit.part.prefixItems?.length ?? 0; n < value.length; n++)
        visit.below(n, limit);
  }),
  additionalItems: ofList((limit, visit, value) => {
    const { items } = visit.part;
    if (!Array.isArray(items)) return;
    for (let n = items.length; n < value.length; n++) visit.below(n, limit);
  }),
  contains: ofList((limit, visit, value) => {
    const { minContains = 1, maxContains = Number.POSITIVE_INFINITY } = visit.part;
    let possible = 0;
    let certain = 0;
    for (const n of value.keys()) {
      const found = visit.againstBelow(n, limit);
      if (!found.isValid) continue;
      visit.mark(n);
      possible += 1;
      if (found.isCertain) certain += 1;
    }
    if (possible < minContains)
      visit.fail(failure(`List should have at least ${minContains} items that match 'contains'`));
    else if (certain > maxContains)
      visit.fail(failure(`List should have at most ${maxContains} items that match 'contains'`));
    else if (certain < minContains || possible > maxContains) visit.isCertain = false;
  }),
  unevaluatedItems: ofList((limit, visit, value) => {
    for (const n of value.keys()) if (!visit.isMarked(n)) visit.below(n, limit);
  }),
  uniqueItems: ofList((limit, visit, value) => {
    if (!limit) return;
    if (value.length > MAX_COMPARED_ITEMS) visit.isCertain = false;
    else if (hasDuplicate(value, visit)) visit.fail(failure("List should have no equal items"));
  }),

  minimum: bound(
    (value, limit) => value >= limit,
    (limit) => fault("greater_than_equal", { ge: limit }),
  ),
  maximum: bound(
    (value, limit) => value <= limit,
    (limit) => fault("less_than_equal", { le: limit }),
  ),
  exclusiveMinimum: bound(
    (value, limit) => value > limit,
    (limit) => fault("greater_than", { gt: limit }),
  ),
  exclusiveMaximum: bound(
    (value, limit) => value < limit,
    (limit) => fault("less_than", { lt: limit }),
  ),
  multipleOf: bound(isMultipleOf, (limit) => fault("multiple_of", { multiple_of: limit })),

  pattern: ofString((limit, visit, value) => {
    if (value.length > MAX_MATCHED_CHARS) visit.isCertain = false;
    else if (visit.matches(limit, value) === false)
      visit.fail(fault("string_pattern_mismatch", { pattern: limit }));
  }),
  minLength: ofString((limit, visit, value) => {
    if (charactersIn(value) < limit) visit.fail(fault("string_too_short", { min_length: limit }));
  }),
  maxLength: ofString((limit, visit, value) => {
    if (charactersIn(value) > limit) visit.fail(fault("string_too_long", { max_length: limit }));
  }),
  format: ofString((limit, visit, value) => {
    // The package's own format `url` takes exponential time.
    const name = limit === "url" ? "uri" : limit;
    if (!Object.hasOwn(formats, name)) return;
    if (value.length > MAX_MATCHED_CHARS) visit.isCertain = false;
    else if (!formats[name]?.(value) && !(name === "uri" && OWN_FILE.test(value)))
      visit.fail(
        fault(FORMATS.get(name) ?? "value_error", {
          error: `Input should be a valid value of the format '${name}'`,
        }),
      );
  }),
};

const failure = (error: string) => fault("value_error", { error });

function hasDuplicate(items: Json[], visit: Visit): boolean {
  const scalars = new Set<Json>();
  const others: Json[] = [];
  for (const item of items) {
    const isScalar = typeof item !== "object" || item === null;
    if (isScalar ? scalars.has(item) : others.some((other) => visit.isEqual(item, other)))
      return true;
    if (isScalar) scalars.add(item);
    else others.push(item);
  }
  return false;
}

function hasType(value: Json, type: string): boolean {
  switch (type) {
    case "array":
      return Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    case "null":
      return value === null;
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    default:
      return typeof value === type;
  }
}

/** Returns the number of characters, in which one beyond U+FFFF counts once. */
function charactersIn(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; count += 1) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  return count;
}

/** Compares the decimal numbers as they are written: 0.3 is a multiple of 0.1. */
function isMultipleOf(value: number, divisor: number): boolean {
  if (!Number.isFinite(value)) return false;
  const [dividend, power] = decimal(value);
  const [other, otherPower] = decimal(divisor);
  const least = Math.min(power, otherPower);
  const scaled = (digits: bigint, exponent: number) => digits * 10n ** BigInt(exponent - least);
  return scaled(dividend, power) % scaled(other, otherPower) === 0n;
}

function decimal(value: number): [digits: bigint, power: number] {
  const [mantissa = "", exponent = "0"] = String(value).split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  return [BigInt(whole + fraction), Number(exponent) - fraction.length];
}
