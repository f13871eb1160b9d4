/** JSON Schema 2020-12: checks a version's schemas, and validates inputs against them. */
import type { Json, ValidationIssue } from "../../protocol/common.ts";
import { Meter, TooCostly } from "./json-schema-meter.ts";
import { SchemaParts } from "./json-schema-parts.ts";
import { schemaShape } from "./json-schema-shape.ts";
import { validate } from "./json-schema-validator.ts";
import { PatternMatcher } from "./pattern-matcher.ts";
import { invalid, type Loc, tooDeep, ValidationFailure } from "./validation.ts";
import { zodIssues } from "./zod-issues.ts";

type JsonSchema = Record<string, Json>;

/**
 * The steps of validating null. Nothing below null is visited: a schema that takes more doubles somewhere.
 */
const MAX_STEPS_OF_NULL = 1_000_000;

/**
 * Rejects a schema that cannot be used, or whose validation might never end.
 * @param loc its place in the request
 * @throws ValidationFailure with one issue for each invalid keyword
 */
export function checkSchema(schema: JsonSchema, loc: Loc): void {
  try {
    // Validating null already reveals endless schemas, such as a part that refers to itself.
    validate(partsOf(schema, loc), null, () => undefined, new Meter(MAX_STEPS_OF_NULL));
  } catch (error) {
    if (error instanceof ValidationFailure) throw error;
    if (error instanceof RangeError) throw tooDeep(loc);
    throw invalid(loc, errorMessage(error));
  }
}

/** @throws ValidationFailure with `loc` below `["body", "input"]`, also for an unusable schema */
export function validateInput(schema: JsonSchema, input: Json): void {
  const issues = issuesOf(schema, input);
  if (issues.length > 0) throw new ValidationFailure(issues);
}

const LOC: Loc = ["body", "input"];

function issuesOf(schema: JsonSchema, input: Json): ValidationIssue[] {
  const parts = usableParts(schema);
  const meter = new Meter();
  const patterns = new PatternMatcher(meter);
  try {
    return validate(parts, input, (pattern, text) => patterns.matches(pattern, text), meter);
  } catch (error) {
    // A recursive schema follows a deeply nested input until the stack overflows.
    if (error instanceof RangeError) throw tooDeep(LOC);
    throw error instanceof TooCostly ? tooCostly(error) : error;
  }
}

function usableParts(schema: JsonSchema): SchemaParts {
  try {
    return partsOf(schema, ["body", "schema"]);
  } catch (error) {
    throw unusable(error);
  }
}

function partsOf(schema: JsonSchema, loc: Loc): SchemaParts {
  const parsed = schemaShape.safeParse(schema);
  if (parsed.success) return new SchemaParts(parsed.data);
  const issues = zodIssues(parsed.error, "body", schema);
  throw new ValidationFailure(
    issues.map((issue) => ({ ...issue, loc: [...loc, ...issue.loc.slice(1)] })),
  );
}

const tooCostly = ({ message }: TooCostly) =>
  invalid(
    LOC,
    `The model's input schema is too expensive to check: ${message}. Send a smaller input, or omit Validate-Input`,
  );

const errorMessage = (error: unknown) => (error instanceof Error ? error.message : String(error));

const unusable = (error: unknown) =>
  invalid(
    LOC,
    `The model's input schema cannot be used (${errorMessage(error)}). Omit Validate-Input, or ask the model's owner for a new version`,
  );
