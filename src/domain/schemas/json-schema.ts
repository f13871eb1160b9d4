/** JSON Schema, 2020-12: whether a version's schema can be used, and whether an input fits it. */
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

/**
 * Refuses a schema that would fail whatever is held against it, or could take for ever.
 * @param loc where in the request it stands
 * @throws ValidationFailure, one issue for each keyword that is wrong
 */
export function checkSchema(schema: JsonSchema, loc: Loc): void {
  try {
    // What needs no end for null does so for all: a part that refers to itself, an avalanche of $ref.
    validate(checkedSchema(schema, null, loc), null);
  } catch (error) {
    if (error instanceof ValidationFailure) throw error;
    if (error instanceof RangeError) throw tooDeep(loc);
    throw invalid(loc, errorMessage(error));
  }
}

/**
 * Holds an input against a version's schema.
 * @throws ValidationFailure with `loc` from `["body", "input"]` down; also for a schema that was
 *   published when less was checked and cannot be used
 */
export function validateInput(schema: JsonSchema, input: Json): void {
  const prepared = ready(schema, input);
  const { valid, errors } = hold(prepared, input);
  if (!valid) throw new ValidationFailure(schemaIssues(errors, { ...prepared, input }));
}

const LOC: Loc = ["body", "input"];

function ready(schema: JsonSchema, input: Json): PreparedSchema {
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
  return prepareSchema(parsed.data, patterns.formats, (part) => patterns.settle(part));
}

function hold(prepared: PreparedSchema, input: Json): ValidationResult {
  try {
    return validate(prepared, input);
  } catch (error) {
    // A recursive schema follows the input as deep as it goes: until the stack ends.
    if (error instanceof RangeError) throw tooDeep(LOC);
    // The validator writes names as parts of addresses.
    if (error instanceof URIError) throw invalid(LOC, "A name in it has half a character in it");
    throw error instanceof TooCostly ? tooCostly(error) : unusable(error);
  }
}

const tooCostly = ({ message }: TooCostly) =>
  invalid(
    LOC,
    `The model's input schema is too costly: ${message}. Send a smaller input, or leave out Validate-Input`,
  );

const unusable = (error: unknown) =>
  invalid(
    LOC,
    `The model's input schema cannot be used (${errorMessage(error)}). Leave out Validate-Input, or ask the model's owner for a new version`,
  );
