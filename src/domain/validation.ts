/** What is wrong with a request, in the form of a 422 (types named as pydantic names them). */
import { type OutputUnit, Validator } from "@cfworker/json-schema";
import type { z } from "zod";
import type { Json, ValidationIssue } from "../protocol/common.ts";

export class ValidationFailure extends Error {
  readonly issues: ValidationIssue[];

  constructor(issues: ValidationIssue[]) {
    super(issues.map((issue) => `${issue.loc.join(".")}: ${issue.msg}`).join("; "));
    this.issues = issues;
  }
}

type Where = "body" | "query" | "path" | "header";

/** One problem of the request, thrown where no schema found it. */
export const invalid = (loc: [Where, ...string[]], msg: string, type = "value_error") =>
  new ValidationFailure([{ loc, msg, type }]);

export const malformedJson = () => invalid(["body"], "the body is not JSON", "json_invalid");

/** What zod found, under the part of the request that it looked at. */
export function issuesOf(error: z.core.$ZodError, where: Where): ValidationIssue[] {
  return error.issues.map((issue) => ({
    loc: [where, ...issue.path.map(String)],
    msg: issue.message,
    type: typeOf(issue),
  }));
}

const LENGTHS: Record<string, [string, string]> = {
  string: ["string_too_short", "string_too_long"],
  array: ["too_short", "too_long"],
};

function typeOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      // zod keeps the input out of its issues; its message alone says that there was none.
      return issue.message.endsWith("received undefined") ? "missing" : typeError(issue.expected);
    case "too_small":
      return (
        LENGTHS[issue.origin]?.[0] ?? (issue.inclusive ? "greater_than_equal" : "greater_than")
      );
    case "too_big":
      return LENGTHS[issue.origin]?.[1] ?? (issue.inclusive ? "less_than_equal" : "less_than");
    case "invalid_value":
      return "enum";
    case "invalid_format":
      return issue.format === "regex" ? "string_pattern_mismatch" : `${issue.format}_parsing`;
    case "unrecognized_keys":
      return "extra_forbidden";
    default:
      return "value_error";
  }
}

const TYPE_NAMES: Record<string, string> = {
  array: "list",
  boolean: "bool",
  integer: "int",
  number: "float",
  object: "dict",
  record: "dict",
};

const typeError = (expected: string) => `${TYPE_NAMES[expected] ?? expected}_type`;

const SCHEMA_TYPES: Record<string, string> = {
  required: "missing",
  additionalProperties: "extra_forbidden",
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

/**
 * Holds an input against a version's JSON Schema (2020-12).
 * @throws ValidationFailure with `loc` from `["body", "input"]` down.
 */
export function validateInput(schema: Record<string, Json>, input: Json): void {
  const result = new Validator(schema, "2020-12", false).validate(input);
  if (result.valid) return;
  throw new ValidationFailure(result.errors.filter(isLeaf).slice(0, MAX_ISSUES).map(fromSchema));
}

/** Keywords that only say that something below them failed. */
const isLeaf = ({ keyword }: OutputUnit) =>
  !["properties", "items", "prefixItems", "$ref", "allOf", "additionalItems"].includes(keyword);

function fromSchema(unit: OutputUnit): ValidationIssue {
  const path = unit.instanceLocation
    .split("/")
    .slice(1)
    .map((part) => decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~"));
  const missing = unit.keyword === "required" && /"([^"]+)"/.exec(unit.error)?.[1];
  const expected = unit.keyword === "type" && /Expected "(\w+)"/.exec(unit.error)?.[1];
  return {
    loc: ["body", "input", ...path, ...(missing ? [missing] : [])],
    msg: unit.error,
    type: expected ? typeError(expected) : (SCHEMA_TYPES[unit.keyword] ?? "value_error"),
  };
}
