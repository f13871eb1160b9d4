/** Translates zod's issues into those of a 422. */
import { z } from "zod";
import type { ValidationIssue } from "../../protocol/common.ts";
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

type Issue = z.core.$ZodIssue;

/**
 * Marks issues with facts that are known only while zod looks up their message. It calls this function when
 * the schema has no message of its own and copies the issue afterwards, so properties added here stay.
 */
z.config({
  customError: (issue) => {
    // zod expects "number" of a value of another type, even where the schema requires an integer.
    const isInt =
      issue.code === "invalid_type" && issue.inst instanceof z.ZodNumber && issue.inst.isInt;
    Object.assign(issue, { hasDefaultText: true }, isInt && { expected: "int" });
    return undefined;
  },
});

const memoizer = z.memoizer();
const { alloc } = memoizer;
/**
 * Keeps only the first issues. zod continues after a wrong item and keeps an issue for each: 500,000 items
 * took 358 MB. Arrays, records and objects all call `alloc` of the one memoizer before they look at their
 * content.
 */
memoizer.alloc = (schema, payload, empty, ctx) => {
  payload.issues.push = pushFirst;
  return alloc(schema, payload, empty, ctx);
};

function pushFirst(this: z.core.$ZodRawIssue[], ...issues: z.core.$ZodRawIssue[]): number {
  const kept = issues.slice(0, Math.max(0, MAX_ISSUES - this.length));
  const length = Array.prototype.push.apply(this, kept);
  // A refinement must not run on a value of a wrong type, which only a dropped issue may say.
  if (kept.length < issues.length) Object.assign(this[length - 1] ?? {}, { continue: false });
  return length;
}

/** @param where the validated part of the request @returns the first 20 issues */
export const zodIssues = (error: z.core.$ZodError, where: Loc[0], value: unknown) =>
  error.issues
    .slice(0, MAX_ISSUES)
    .flatMap((issue) => translate(issue, [where], value))
    .slice(0, MAX_ISSUES);

/** @param base the location of `root`, where the issue's path begins */
function translate(issue: Issue, base: Loc, root: unknown): ValidationIssue[] {
  const loc: Loc = [...base, ...issue.path.map(String)];
  const value = valueAt(root, issue.path);
  if (value === undefined) return [issueAt(loc, fault("missing"))];
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys
        .slice(0, MAX_ISSUES)
        .map((key) =>
          issueAt([...loc, key], named(fault("extra_forbidden"), issue), valueAt(value, [key])),
        );
    case "invalid_key":
      return issue.issues.flatMap((inner) =>
        translate(inner, [...loc, "[key]"], String(issue.path.at(-1))),
      );
    case "invalid_union":
      if (issue.errors.length > 0) {
        const branches = issue.errors.map((errors) =>
          errors.flatMap((inner) => translate(inner, loc, value)),
        );
        return likeliestIssues(branches, loc.length);
      }
  }
  const found = faultOf(issue, value, loc[0] !== "body" && typeof value === "string");
  return [issueAt(loc, named(found, issue), value)];
}

/** Returns a fault with the message of its schema, if that has one. */
const named = (found: Fault, issue: Issue): Fault =>
  "hasDefaultText" in issue ? found : { ...found, msg: issue.message };

/** Returns the value at the path; for an item of a list sent as one text, that text. */
function valueAt(root: unknown, path: PropertyKey[]): unknown {
  let at = root;
  for (const key of path) {
    if (typeof at !== "object" || at === null) return at;
    at = Reflect.get(at, key);
  }
  return at;
}

const FORMATS = new Map<string, IssueType>([
  ["date", "date_parsing"],
  ["datetime", "datetime_parsing"],
  ["time", "time_parsing"],
  ["url", "url_parsing"],
  ["uuid", "uuid_parsing"],
]);

/** Returns a parsing error: outside the body every value is text, so a mismatch is not a wrong type. */
function textFault(expected: string): Fault | undefined {
  if (expected === "int") return fault("int_parsing");
  if (expected === "number") return fault("float_parsing");
  return undefined;
}

function faultOf(issue: Issue, value: unknown, isText: boolean): Fault {
  switch (issue.code) {
    case "invalid_type":
      return (isText && textFault(issue.expected)) || wrongType(issue.expected, value);
    case "too_small": {
      const min_length = issue.minimum;
      if (issue.origin === "string") return fault("string_too_short", { min_length });
      if (issue.origin === "array") return fault("too_short", { field_type: "List", min_length });
      return issue.inclusive
        ? fault("greater_than_equal", { ge: issue.minimum })
        : fault("greater_than", { gt: issue.minimum });
    }
    case "too_big": {
      const max_length = issue.maximum;
      if (issue.origin === "string") return fault("string_too_long", { max_length });
      if (issue.origin === "array") return fault("too_long", { field_type: "List", max_length });
      return issue.inclusive
        ? fault("less_than_equal", { le: issue.maximum })
        : fault("less_than", { lt: issue.maximum });
    }
    case "invalid_value": {
      if ("expected" in issue) return fault("bool_parsing");
      const type = issue.values.length === 1 ? "literal_error" : "enum";
      return fault(type, { expected: formatAlternatives(issue.values) });
    }
    case "invalid_union": {
      const { discriminator } = issue;
      if (discriminator === undefined || !("options" in issue)) break;
      const expected_tags = formatAlternatives(issue.options ?? []);
      return fault("union_tag_invalid", { discriminator, expected_tags });
    }
    case "invalid_format": {
      if (issue.format === "regex")
        return fault("string_pattern_mismatch", { pattern: issue.pattern?.slice(1, -1) });
      return fault(FORMATS.get(issue.format) ?? "value_error", { error: issue.message });
    }
    case "not_multiple_of":
      return fault("multiple_of", { multiple_of: issue.divisor });
  }
  return fault("value_error", { error: issue.message });
}
