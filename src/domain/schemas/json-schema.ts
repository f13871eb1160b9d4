/** JSON Schema 2020-12: checks a version's schemas, and validates inputs against them. */
import type { ValidationResult } from "@cfworker/json-schema";
import type { Json } from "../../protocol/common.ts";
import { schemaIssues } from "./json-schema-issues.ts";
import { Patterns } from "./json-schema-patterns.ts";
import { boundedSchema } from "./json-schema-shape.ts";
import {
  errorMessage,
  type PreparedSchema,
  prepareSchema,
  TooCostly,
  validate,
} from "./json-schema-validator.ts";
import { invalid, type Loc, tooDeep, ValidationFailure } from "./validation.ts";
import { zodIssues } from "./zod-issues.ts";

type JsonSchema = Record<string, Json>;

/** Nothing below it is visited: what takes more doubles somewhere. 15 ms. */
const MAX_VISITS_OF_NULL = 10_000;

/**
 * Rejects a schema that cannot be used, or whose validation might never end.
 * @param loc its place in the request
 * @throws ValidationFailure with one issue for each invalid keyword
 */
export function checkSchema(schema: JsonSchema, loc: Loc): void {
  try {
    // Validating null already reveals endless schemas, such as a part that refers to itself.
    validate(checkedSchema(schema, null, loc), null, MAX_VISITS_OF_NULL);
  } catch (error) {
    if (error instanceof ValidationFailure) throw error;
    if (error instanceof RangeError) throw tooDeep(loc);
    throw invalid(loc, errorMessage(error));
  }
}

/** @throws ValidationFailure with `loc` below `["body", "input"]`, also for an unusable schema */
export function validateInput(schema: JsonSchema, input: Json): void {
  const prepared = prepareInputSchema(schema, input);
  const { valid, errors } = runValidation(prepared, input);
  if (!valid) throw new ValidationFailure(schemaIssues(errors, { ...prepared, input }));
}

const LOC: Loc = ["body", "input"];

function prepareInputSchema(schema: JsonSchema, input: Json): PreparedSchema {
  try {
    return checkedSchema(schema, input, ["body", "schema"]);
  } catch (error) {
    throw error instanceof TooCostly ? tooCostly(error) : unusable(error);
  }
}

function checkedSchema(source: JsonSchema, input: Json, loc: Loc): PreparedSchema {
  const parsed = boundedSchema.safeParse(source);
  if (!parsed.success) {
    const issues = zodIssues(parsed.error, "body", source);
    throw new ValidationFailure(
      issues.map((issue) => ({ ...issue, loc: [...loc, ...issue.loc.slice(1)] })),
    );
  }
  const patterns = new Patterns(input);
  return prepareSchema(parsed.data, patterns.formats, (part) => patterns.apply(part));
}

function runValidation(prepared: PreparedSchema, input: Json): ValidationResult {
  try {
    return validate(prepared, input);
  } catch (error) {
    // A recursive schema follows a deeply nested input until the stack overflows.
    if (error instanceof RangeError) throw tooDeep(LOC);
    // The validator encodes property names as URI components.
    if (error instanceof URIError) throw invalid(LOC, "A property name contains a lone surrogate");
    throw error instanceof TooCostly ? tooCostly(error) : unusable(error);
  }
}

const tooCostly = ({ message }: TooCostly) =>
  invalid(
    LOC,
    `The model's input schema is too expensive to check: ${message}. Send a smaller input, or omit Validate-Input`,
  );

const unusable = (error: unknown) =>
  invalid(
    LOC,
    `The model's input schema cannot be used (${errorMessage(error)}). Omit Validate-Input, or ask the model's owner for a new version`,
  );
