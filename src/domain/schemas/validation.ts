/** Validation issues of a 422. Types, texts and contexts follow pydantic v2. */
import type { Json } from "../../lib/json.ts";
import { nonFiniteIn } from "../../lib/json.ts";
import { type JsonSource, textFrom } from "../../lib/json-text.ts";
import type { ValidationIssue } from "../../protocol/common.ts";

/** The closed list of types. `{name}` is filled in from the context, `{name noun}` with its plural. */
const TEXTS = {
  bool_parsing: "Input should be a valid boolean: 'true' or 'false'",
  bool_type: "Input should be a valid boolean",
  date_parsing: "Input should be a valid date, such as 2026-01-31",
  datetime_parsing: "Input should be a valid datetime in UTC, such as 2026-01-31T12:00:00Z",
  dict_type: "Input should be an object",
  enum: "Input should be {expected}",
  extra_forbidden: "Extra inputs are not permitted",
  finite_number: "Input should be a finite number",
  float_parsing: "Input should be a valid number, unable to parse string as a number",
  float_type: "Input should be a valid number",
  greater_than: "Input should be greater than {gt}",
  greater_than_equal: "Input should be greater than or equal to {ge}",
  int_from_float: "Input should be a valid integer, got a number with a fractional part",
  int_parsing: "Input should be a valid integer, unable to parse string as an integer",
  int_type: "Input should be a valid integer",
  json_invalid: "The body is not valid JSON: {error}",
  less_than: "Input should be less than {lt}",
  less_than_equal: "Input should be less than or equal to {le}",
  list_type: "Input should be a valid array",
  literal_error: "Input should be {expected}",
  missing: "Field required",
  multiple_of: "Input should be a multiple of {multiple_of}",
  none_required: "Input should be null",
  recursion_loop: "Input is nested too deep",
  string_pattern_mismatch: "String should match pattern '{pattern}'",
  string_too_long: "String should have at most {max_length character}",
  string_too_short: "String should have at least {min_length character}",
  string_type: "Input should be a valid string",
  time_parsing: "Input should be a valid time, such as 12:00:00",
  too_long: "{field_type} should have at most {max_length item}",
  too_short: "{field_type} should have at least {min_length item}",
  union_tag_invalid: "Input should have '{discriminator}' {expected_tags}",
  url_parsing: "Input should be a valid URL, such as https://example.com/path",
  url_scheme: "URL scheme should be {expected_schemes}",
  uuid_parsing: "Input should be a valid UUID",
  value_error: "{error}",
} as const;

export type IssueType = keyof typeof TEXTS;

export type Fault = Pick<ValidationIssue, "type" | "msg" | "ctx">;

type Where = "body" | "query" | "path" | "header";
export type Loc = [Where, ...string[]];

export class ValidationFailure extends Error {
  readonly issues: ValidationIssue[];

  constructor(issues: ValidationIssue[]) {
    super(issues.map((issue) => `${issue.loc.join(".")}: ${issue.msg}`).join("; "));
    this.issues = issues;
  }
}

export const MAX_ISSUES = 20;

/** The longest quoted text. A pattern or a list of values can be 100 KB, and a name in an input 10 MB. */
const MAX_QUOTED_CHARACTERS = 1_000;

export const shortened = (text: string) =>
  text.length > MAX_QUOTED_CHARACTERS ? `${text.slice(0, MAX_QUOTED_CHARACTERS)}…` : text;

/** @param whole values of the text, and other helpful ones; absent if the type says it all */
export function fault(type: IssueType, whole?: Record<string, unknown>): Fault {
  const ctx =
    whole &&
    Object.fromEntries(
      Object.entries(whole).map(([name, value]) => [
        name,
        typeof value === "string" ? shortened(value) : value,
      ]),
    );
  const msg = TEXTS[type].replace(/\{(\w+)( \w+)?\}/g, (_, name: string, noun = "") => {
    const plural = noun && ctx?.[name] !== 1 ? "s" : "";
    return `${ctx?.[name]}${noun}${plural}`;
  });
  return ctx ? { type, msg, ctx } : { type, msg };
}

/** @param value the invalid value, which is repeated if it is short and not a secret */
export const issueAt = (
  [where, ...names]: Loc,
  { type, msg, ctx }: Fault,
  value?: unknown,
): ValidationIssue => ({
  type,
  loc: [where, ...names.map(shortened)],
  msg,
  ...(!names.some((part) => SECRET.test(part)) && repeatable(value) && { input: value }),
  ...(ctx && { ctx }),
});

/** Returns the error of a single issue that no schema detects. */
export const invalid = (loc: Loc, msg: string, type: IssueType = "value_error", value?: unknown) =>
  new ValidationFailure([issueAt(loc, { type, msg }, value)]);

/** Returns an issue for each unknown name. @param list the endpoint that lists the known ones */
export const unknownNameIssues = (
  names: string[],
  known: readonly string[],
  locOf: (n: number) => Loc,
  list: string,
): ValidationIssue[] =>
  names.flatMap((name, n) =>
    known.includes(name)
      ? []
      : issueAt(locOf(n), {
          type: "value_error",
          msg: `'${name}' does not exist: see GET ${list}`,
        }),
  );

export const malformedJson = (error: unknown) =>
  new ValidationFailure([
    issueAt(
      ["body"],
      fault("json_invalid", { error: error instanceof Error ? error.message : "" }),
    ),
  ]);

/** @throws ValidationFailure for a number beyond the range of a double: a model would parse it as another */
export function checkFinite(value: Json, loc: Loc): void {
  const place = nonFiniteIn(value);
  if (!place) return;
  const finite = fault("finite_number");
  const outOfRange = { ...finite, msg: `${finite.msg}: ${Number.MAX_VALUE} at most` };
  throw new ValidationFailure([issueAt([...loc, ...place], outOfRange)]);
}

export const tooDeep = (loc: Loc) => new ValidationFailure([issueAt(loc, fault("recursion_loop"))]);

/**
 * Serializes part of a request, as `textFrom` does. V8 needs recursion for some JSON, for example with names
 * beyond Latin-1, and overflows the stack if it is nested too deep.
 * @throws ValidationFailure
 */
export function jsonText(value: Json, loc: Loc, source?: JsonSource): string {
  try {
    return textFrom(value, source);
  } catch (error) {
    if (error instanceof RangeError) throw tooDeep(loc);
    throw error;
  }
}

const TYPE_FAULTS = new Map<string, IssueType>([
  ["array", "list_type"],
  ["boolean", "bool_type"],
  ["int", "int_type"],
  ["integer", "int_type"],
  ["null", "none_required"],
  ["number", "float_type"],
  ["object", "dict_type"],
  ["record", "dict_type"],
  ["string", "string_type"],
]);

/** @param expected the name that zod or JSON Schema has for the type that the value should have */
export function wrongType(expected: string, value: unknown): Fault {
  if (typeof value === "number" && !Number.isFinite(value)) return fault("finite_number");
  const type = TYPE_FAULTS.get(expected);
  if (type === "int_type" && typeof value === "number") return fault("int_from_float");
  return type ? fault(type) : fault("value_error", { error: `Input should be: ${expected}` });
}

/** Lists the allowed values: `'a', 'b' or 'c'`. */
export function formatAlternatives(values: readonly unknown[]): string {
  const texts = values.map((value) =>
    typeof value === "string" ? `'${value}'` : (JSON.stringify(value) ?? String(value)),
  );
  const last = texts.pop() ?? "nothing";
  return texts.length > 0 ? `${texts.join(", ")} or ${last}` : last;
}

/**
 * Returns the issues of the branch of a union that was most likely intended.
 * @param branches the issues of each branch
 * @param depth the length of the value's own `loc`
 */
export function likeliestIssues(branches: ValidationIssue[][], depth: number): ValidationIssue[] {
  const ofAnotherType = ({ loc, type }: ValidationIssue) =>
    loc.length === depth && (type.endsWith("_type") || type === "none_required");
  // A different type is the worst fit; a wrong literal usually distinguishes the branches.
  const misfit = (branch: ValidationIssue[]) =>
    branch.reduce((sum, issue) => {
      if (ofAnotherType(issue)) return sum + 100;
      return sum + (issue.type === "literal_error" || issue.type === "enum" ? 10 : 1);
    }, 0);
  const [best = []] = branches.toSorted((a, b) => misfit(a) - misfit(b));
  const [first] = best;
  if (!first || !ofAnotherType(first)) return best;
  const texts = new Set(
    branches
      .flat()
      .filter(ofAnotherType)
      .map(({ msg }) => msg),
  );
  return [{ ...first, msg: [...texts].join(", or: ") }];
}

const SECRET = /secret|token|password|authorization|variables/i;

const MAX_INPUT_CHARACTERS = 1_000;

const repeatable = (value: unknown) =>
  value !== undefined && roomAfter(value, MAX_INPUT_CHARACTERS) >= 0;

/** Returns the room left after a value. It stops early: the value can be 10 MB, nested as deep. */
function roomAfter(value: unknown, room: number): number {
  if (typeof value === "string") return room - value.length - 2;
  if (typeof value !== "object" || value === null) return room - String(value).length;
  let left = room - 2;
  for (const key in value) {
    if (left < 0 || SECRET.test(key)) return -1;
    left = roomAfter(Reflect.get(value, key), left - key.length - 4);
  }
  return left;
}
