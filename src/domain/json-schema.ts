/** JSON Schema, 2020-12: whether a version's schema can be used, and whether an input fits it. */
import { dereference, type OutputUnit, type Schema, Validator } from "@cfworker/json-schema";
import type { Json, ValidationIssue } from "../protocol/common.ts";
import { invalid, typeError, ValidationFailure } from "./validation.ts";

type JsonSchema = Record<string, Json>;

const TYPES: Record<string, string> = {
  required: "missing",
  false: "extra_forbidden",
  minimum: "greater_than_equal",
  maximum: "less_than_equal",
  exclusiveMinimum: "greater_than",
  exclusiveMaximum: "less_than",
  minLength: "string_too_short",
  maxLength: "string_too_long",
  pattern: "string_pattern_mismatch",
  minItems: "too_short",
  maxItems: "too_long",
  enum: "enum",
};

/** More would not help anybody. */
const MAX_ISSUES = 20;

/** Keywords that only say that something below them failed. */
const BRANCHES = new Set([
  "properties",
  "additionalProperties",
  "items",
  "prefixItems",
  "additionalItems",
  "$ref",
  "allOf",
]);

/**
 * Refuses a schema that would fail whatever is held against it.
 * @param loc where in the request it stands
 * @throws ValidationFailure for a `$ref` that leads nowhere and a `pattern` that is none
 */
export function checkSchema(schema: JsonSchema, loc: ["body", ...string[]]): void {
  try {
    // dereference leaves marks in what it walks.
    const all = dereference(structuredClone(schema));
    for (const [place, part] of Object.entries(all)) {
      if (typeof part === "boolean") continue;
      const target = part.__absolute_ref__ ?? part.$ref;
      if (target !== undefined && !(target in all)) {
        throw new Error(
          `${fragmentOf(place)}: $ref '${part.$ref}' leads to nothing in this schema`,
        );
      }
      for (const pattern of patternsOf(part)) new RegExp(pattern, "u");
    }
  } catch (error) {
    throw invalid(loc, error instanceof Error ? error.message : String(error));
  }
}

/**
 * Holds an input against a version's schema.
 * @throws ValidationFailure with `loc` from `["body", "input"]` down
 */
export function validateInput(schema: JsonSchema, input: Json): void {
  const result = attempt(schema, input);
  if (result.valid) return;
  const leaves = result.errors.filter(({ keyword }) => !BRANCHES.has(keyword));
  throw new ValidationFailure(leaves.slice(0, MAX_ISSUES).map(issueOf));
}

function attempt(schema: JsonSchema, input: Json) {
  try {
    return new Validator(schema, "2020-12", false).validate(input);
  } catch (error) {
    // A recursive schema follows the input as deep as it goes: until the stack ends.
    if (error instanceof RangeError) throw invalid(["body", "input"], "it is nested too deep");
    throw error;
  }
}

const patternsOf = ({ pattern, patternProperties }: Schema) => [
  ...(pattern === undefined ? [] : [pattern]),
  ...Object.keys(patternProperties ?? {}),
];

const fragmentOf = (place: string) => place.slice(place.indexOf("#"));

function issueOf({ keyword, error, instanceLocation }: OutputUnit): ValidationIssue {
  const path = instanceLocation
    .split("/")
    .slice(1)
    .map((part) => decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~"));
  const missing = keyword === "required" && /"([^"]+)"/.exec(error)?.[1];
  const expected = keyword === "type" && /Expected "(\w+)"/.exec(error)?.[1];
  return {
    loc: ["body", "input", ...path, ...(missing ? [missing] : [])],
    msg: keyword === "false" ? "this is not an input of the model" : error,
    type: expected ? typeError(expected) : (TYPES[keyword] ?? "value_error"),
  };
}
