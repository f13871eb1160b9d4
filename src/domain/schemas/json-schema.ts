/** JSON Schema 2020-12: checks a version's schemas, and validates inputs against them. */

import { RE2JS, RE2JSException } from "re2js";
import type { Json, ValidationIssue } from "../../protocol/common.ts";
import type { Schemas } from "../../protocol/model.ts";
import { SchemaParts } from "./json-schema-parts.ts";
import { schemaShape } from "./json-schema-shape.ts";
import { validate } from "./json-schema-validator.ts";
import { Meter, TooCostly } from "./json-schema-visit.ts";
import { faultOfSize } from "./openapi-schemas.ts";
import { invalid, type Loc, tooDeep, ValidationFailure } from "./validation.ts";
import { versionSchema } from "./version-schemas.ts";
import { zodIssues } from "./zod-issues.ts";

type JsonSchema = Record<string, Json>;

/** The steps of validating null, below which nothing is: a schema that takes more doubles somewhere. */
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

/** Whether an input matches a schema; false for an unusable schema, too. */
export function isValidInput(schema: JsonSchema, input: Json): boolean {
  try {
    return issuesOf(schema, input).length === 0;
  } catch {
    return false;
  }
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

/** @throws ValidationFailure with places below `["body", "schemas"]` */
export function checkVersionSchemas(schemas: Schemas): void {
  const fault = faultOfSize(schemas);
  if (fault !== undefined) throw invalid(["body", "schemas"], fault);
  for (const side of ["input", "output"] as const) {
    const place: Loc = ["body", "schemas", "prediction", side];
    try {
      checkSchema(versionSchema(schemas, side), place);
    } catch (error) {
      throw schemas.components ? atRequestPath(error, place) : error;
    }
  }
}

/** Returns the fault of schemas that no request has sent; undefined: they can be used. */
export function faultOfSchemas(schemas: Schemas): string | undefined {
  try {
    checkVersionSchemas(schemas);
    return undefined;
  } catch (error) {
    if (error instanceof ValidationFailure) return error.message;
    throw error;
  }
}

/** Moves an issue of a shared component to where that was sent: each schema is validated with it. */
function atRequestPath(error: unknown, place: Loc): unknown {
  if (!(error instanceof ValidationFailure)) return error;
  return new ValidationFailure(
    error.issues.map((issue) =>
      issue.loc[place.length] === "components"
        ? { ...issue, loc: ["body", "schemas", ...issue.loc.slice(place.length)] }
        : issue,
    ),
  );
}

/** Matches patterns of JSON Schemas with RE2, whose time is linear in the text. */

/** Steps after which the compiled patterns are dropped: their caches reach 30 MB in the worst case. */
const CACHED_STEPS = 100_000;

const STEPS_OF_COMPILATION = 1_000;

/** The steps for each instruction that `sizeOf` expects. */
const STEPS_OF_INSTRUCTION = 10;

const MAX_SIZE = 5_000;

const MAX_LENGTH = 10_000;

/** The size of a property, which has up to 650 ranges. */
const PROPERTY_SIZE = 40;

/** The pieces of a pattern: an escape, a class, a counted repetition, or one other character. */
const PIECES = /\\[pP]\{[^}]*\}|\\.|\[(?:\\.|[^\]\\])*\]|\{(\d+)(?:,(\d*))?\}|./gsu;

/** Pieces that RE2 reads differently: empty classes, and in its classes `[:alpha:]`. */
const DIFFERENT = /^(?:\.|\\s|\[\^?\]|\\p\{C\}|\[(?:\\.|[^\\])*(?:\\s|\\p\{C\}|\[:).*)$/isu;

export class PatternMatcher {
  readonly #engines = new Map<string, RE2JS | undefined>();
  readonly #meter: Meter;
  #droppedAt = 0;

  constructor(meter: Meter) {
    this.#meter = meter;
  }

  /**
   * @param pattern valid in JavaScript with the flag `u`
   * @returns undefined for a pattern that is left to the container
   * @throws TooCostly
   */
  matches(pattern: string, text: string): boolean | undefined {
    if (this.#meter.steps - this.#droppedAt > CACHED_STEPS) {
      this.#engines.clear();
      this.#droppedAt = this.#meter.steps;
    }
    const engine = this.#engines.has(pattern) ? this.#engines.get(pattern) : this.#compile(pattern);
    // Each character may visit every instruction of the program.
    this.#meter.spend((engine?.programSize() ?? 1) * (text.length + 1));
    return engine?.test(text);
  }

  #compile(pattern: string): RE2JS | undefined {
    this.#meter.spend(STEPS_OF_COMPILATION + pattern.length);
    const size = sizeOf(pattern);
    if (size !== undefined) this.#meter.spend(STEPS_OF_INSTRUCTION * size);
    const engine = size === undefined ? undefined : compiled(pattern);
    this.#engines.set(pattern, engine);
    return engine;
  }
}

function compiled(pattern: string): RE2JS | undefined {
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    if (error instanceof RE2JSException) return undefined;
    throw error;
  }
}

/**
 * @returns how many instructions the pattern has at most once RE2 has written its repetitions out; undefined if
 * they are too many, or if RE2 reads the pattern differently than JavaScript
 */
function sizeOf(pattern: string): number | undefined {
  if (pattern.length > MAX_LENGTH) return undefined;
  const groups: number[] = [];
  let [size, last] = [0, 0];
  for (const [piece, least, most] of pattern.matchAll(PIECES)) {
    if (DIFFERENT.test(piece)) return undefined;
    if (piece === "(") {
      groups.push(size);
      size = 0;
      continue;
    }
    if (piece === ")") {
      last = size;
      size += groups.pop() ?? 0;
    } else if (least !== undefined) {
      size += last * Math.max(Number(least), Number(most ?? 0));
    } else {
      last = piece.length + PROPERTY_SIZE * (piece.match(/\\p/gi)?.length ?? 0);
      size += last;
    }
    if (size > MAX_SIZE) return undefined;
  }
  return size;
}
