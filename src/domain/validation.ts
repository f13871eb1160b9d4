/** What is wrong with a request, in the form of a 422 (types named as pydantic names them). */
import type { z } from "zod";
import type { ValidationIssue } from "../protocol/common.ts";

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

/**
 * What zod found.
 * @param where the part of the request that it looked at, and `value` what it was.
 */
export function issuesOf(error: z.core.$ZodError, where: Where, value: unknown): ValidationIssue[] {
  return error.issues.map((issue) => {
    const loc = [where, ...issue.path.map(String)];
    return isAbsent(value, issue.path)
      ? { loc, msg: "required", type: "missing" }
      : { loc, msg: issue.message, type: typeOf(issue) };
  });
}

/** zod keeps the input out of its issues, so that absence must be looked for. */
function isAbsent(value: unknown, path: PropertyKey[]): boolean {
  let at: unknown = value;
  for (const key of path) {
    if (typeof at !== "object" || at === null) return true;
    at = Reflect.get(at, key);
  }
  return at === undefined;
}

const LENGTHS: Record<string, [string, string]> = {
  string: ["string_too_short", "string_too_long"],
  array: ["too_short", "too_long"],
};

function typeOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return typeError(issue.expected);
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

/** The name of the type of a value that is not `expected`. */
export const typeError = (expected: string) => `${TYPE_NAMES[expected] ?? expected}_type`;
