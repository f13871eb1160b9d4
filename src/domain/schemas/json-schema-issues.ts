/** What a JSON Schema found wrong with an input, in the form of a 422. */
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

interface Held {
  schema: Schema | boolean;
  /** All of its parts, by absolute address: where a `$ref` leads. */
  lookup: Record<string, Schema | boolean>;
  input: Json;
}

/** Keywords that only say that something below them failed. */
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

/** Keywords that sum up what is below them. */
const SUMS = new Set(["anyOf", "contains", "oneOf", "propertyNames"]);

/** Unions in unions are gone through at each level: 1.6 s for 16,000 errors in 14 levels. */
const MAX_ERRORS = 2_000;

/**
 * @param errors flat, as the validator lists them: each keyword before what is below it
 * @returns the first 20, of the first 2,000 errors
 */
export const schemaIssues = (errors: OutputUnit[], held: Held): ValidationIssue[] =>
  issuesAmong(errors.slice(0, MAX_ERRORS), held);

function issuesAmong(errors: OutputUnit[], held: Held): ValidationIssue[] {
  const issues: ValidationIssue[] = [];
  const rest = errors.filter(({ keyword }) => !PARENTS.has(keyword)).values();
  let next = rest.next();
  while (!next.done && issues.length < MAX_ISSUES) {
    const unit = next.value;
    const below: OutputUnit[] = [];
    next = rest.next();
    while (SUMS.has(unit.keyword) && !next.done && isBelow(next.value, unit)) {
      below.push(next.value);
      next = rest.next();
    }
    issues.push(...summary(unit, below, held));
  }
  return issues.slice(0, MAX_ISSUES);
}

const isBelow = (unit: OutputUnit, { keywordLocation }: OutputUnit) =>
  unit.keywordLocation.startsWith(`${keywordLocation}/`);

function summary(unit: OutputUnit, below: OutputUnit[], held: Held): ValidationIssue[] {
  const issue = issueOf(unit, held);
  const branches = Object.groupBy(
    below,
    ({ keywordLocation }) =>
      keywordLocation.slice(unit.keywordLocation.length + 1).split("/")[0] ?? "",
  );
  // Where one was missed by fitting two, no branch is the one that was meant.
  const isMissed = unit.keyword === "anyOf" || unit.error.endsWith("(0 matches).");
  if (!isMissed || below.length === 0) return [issue];
  const found = Object.values(branches).map((units = []) => issuesAmong(units, held));
  return likeliestIssues(found, issue.loc.length);
}

function issueOf(unit: OutputUnit, held: Held): ValidationIssue {
  const path = segments(unit.instanceLocation);
  const loc: Loc = ["body", "input", ...path];
  // The validator names the property in its text alone.
  const missing = unit.keyword === "required" && /property "(.*)"\.$/s.exec(unit.error)?.[1];
  if (missing) return issueAt([...loc, missing], fault("missing"));
  const value = path.reduce(child, held.input as unknown);
  return issueAt(loc, faultOf(unit, stated(unit.keywordLocation, held), value), value);
}

const FORMATS = new Map<unknown, IssueType>([
  ["date", "date_parsing"],
  ["date-time", "datetime_parsing"],
  ["time", "time_parsing"],
  ["uri", "url_parsing"],
  ["uuid", "uuid_parsing"],
]);

/** @param limit what the keyword says */
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
      // How `false` is written in our copy.
      return limit === true ? fault("extra_forbidden") : fault("value_error", { error });
    default:
      return fault("value_error", { error });
  }
}

/** What the schema says at the keyword that failed. */
function stated(location: string, { schema, lookup }: Held): unknown {
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
