/** Translates errors of the JSON Schema validator into the issues of a 422. */
import type { OutputUnit, Schema } from "@cfworker/json-schema";
import type { Json, ValidationIssue } from "../../protocol/common.ts";
import { formatToPattern } from "./pattern-format.ts";
import {
  type Fault,
  fault,
  formatAlternatives,
  type IssueType,
  issueAt,
  type Loc,
  likeliestIssues,
  MAX_ISSUES,
  wrongType,
} from "./validation.ts";

interface Validated {
  schema: Schema | boolean;
  /** All parts by absolute URI, to follow `$ref`. */
  lookup: Record<string, Schema | boolean>;
  input: Json;
}

/** Keywords whose errors only repeat that something below failed. */
const PARENTS = new Set([
  "$ref",
  "additionalItems",
  "additionalProperties",
  "allOf",
  "dependentSchemas",
  "if",
  "items",
  "patternProperties",
  "prefixItems",
  "properties",
  "unevaluatedItems",
  "unevaluatedProperties",
]);

/** Keywords that summarize the errors below them. */
const SUMMARIES = new Set(["anyOf", "contains", "oneOf", "propertyNames"]);

/** Nested unions are processed at each level: 16,000 errors in 14 levels take 1.6 s. */
const MAX_ERRORS = 2_000;

/**
 * @param errors flat, each keyword before the errors below it
 * @returns the first 20 issues, from the first 2,000 errors
 */
export const schemaIssues = (errors: OutputUnit[], validated: Validated): ValidationIssue[] =>
  issuesAmong(errors.slice(0, MAX_ERRORS), validated);

function issuesAmong(errors: OutputUnit[], validated: Validated): ValidationIssue[] {
  const issues: ValidationIssue[] = [];
  const rest = errors.filter(({ keyword }) => !PARENTS.has(keyword)).values();
  let next = rest.next();
  while (!next.done && issues.length < MAX_ISSUES) {
    const unit = next.value;
    const below: OutputUnit[] = [];
    next = rest.next();
    while (SUMMARIES.has(unit.keyword) && !next.done && isBelow(next.value, unit)) {
      below.push(next.value);
      next = rest.next();
    }
    issues.push(...summary(unit, below, validated));
  }
  return issues.slice(0, MAX_ISSUES);
}

const isBelow = (unit: OutputUnit, { keywordLocation }: OutputUnit) =>
  unit.keywordLocation.startsWith(`${keywordLocation}/`);

function summary(unit: OutputUnit, below: OutputUnit[], validated: Validated): ValidationIssue[] {
  const issue = issueOf(unit, validated);
  const branches = Object.groupBy(
    below,
    ({ keywordLocation }) =>
      keywordLocation.slice(unit.keywordLocation.length + 1).split("/")[0] ?? "",
  );
  // If two branches of a oneOf match, no single branch was intended.
  const isMissed = unit.keyword === "anyOf" || unit.error.endsWith("(0 matches).");
  if (!isMissed || below.length === 0) return [issue];
  const found = Object.values(branches).map((units = []) => issuesAmong(units, validated));
  return likeliestIssues(found, issue.loc.length);
}

function issueOf(unit: OutputUnit, validated: Validated): ValidationIssue {
  const path = segments(unit.instanceLocation);
  const loc: Loc = ["body", "input", ...path];
  // The validator names the property only in its message.
  const missing = unit.keyword === "required" && /property "(.*)"\.$/s.exec(unit.error)?.[1];
  if (missing) return issueAt([...loc, missing], fault("missing"));
  const value = path.reduce(child, validated.input as unknown);
  return issueAt(loc, faultOf(unit, keywordValue(unit.keywordLocation, validated), value), value);
}

const FORMATS = new Map<unknown, IssueType>([
  ["date", "date_parsing"],
  ["date-time", "datetime_parsing"],
  ["time", "time_parsing"],
  ["uri", "url_parsing"],
  ["uuid", "uuid_parsing"],
]);

/** @param limit the keyword's value */
function faultOf({ keyword, error }: OutputUnit, limit: unknown, value: unknown): Fault {
  switch (keyword) {
    case "type": {
      const faults = [limit].flat().map((type) => wrongType(String(type), value));
      const texts = faults.map(({ msg }) => msg).join(", or: ");
      return { type: "value_error", ...faults[0], msg: texts };
    }
    case "const":
      return fault("literal_error", { expected: formatAlternatives([limit]) });
    case "enum":
      return fault("enum", { expected: formatAlternatives([limit].flat()) });
    case "minimum":
      return fault("greater_than_equal", { ge: limit });
    case "maximum":
      return fault("less_than_equal", { le: limit });
    case "exclusiveMinimum":
      return fault("greater_than", { gt: limit });
    case "exclusiveMaximum":
      return fault("less_than", { lt: limit });
    case "multipleOf":
      return fault("multiple_of", { multiple_of: limit });
    case "minLength":
      return fault("string_too_short", { min_length: limit });
    case "maxLength":
      return fault("string_too_long", { max_length: limit });
    case "minItems":
      return fault("too_short", { field_type: "List", min_length: limit });
    case "maxItems":
      return fault("too_long", { field_type: "List", max_length: limit });
    case "minProperties":
      return fault("too_short", { field_type: "Dictionary", min_length: limit });
    case "maxProperties":
      return fault("too_long", { field_type: "Dictionary", max_length: limit });
    case "format": {
      const pattern = formatToPattern(limit);
      if (pattern !== undefined) return fault("string_pattern_mismatch", { pattern });
      return fault(FORMATS.get(limit) ?? "value_error", { error });
    }
    case "not":
      // Our copy of the schema writes `false` as `not: true`.
      return limit === true ? fault("extra_forbidden") : fault("value_error", { error });
    default:
      return fault("value_error", { error });
  }
}

/** The value of the keyword that failed. */
function keywordValue(location: string, { schema, lookup }: Validated): unknown {
  let at: unknown = schema;
  for (const key of segments(location)) {
    const next = child(at, key);
    at = key === "$ref" ? lookup[String(child(at, "__absolute_ref__") ?? next)] : next;
  }
  return at;
}

const child = (at: unknown, key: string): unknown =>
  typeof at === "object" && at !== null ? Reflect.get(at, key) : undefined;

const segments = (pointer: string) =>
  pointer
    .split("/")
    .slice(1)
    .map((part) => decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~"));
