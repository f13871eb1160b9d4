/** JSON Schema, 2020-12: whether a version's schema can be used, and whether an input fits it. */
import { dereference, type Schema, type ValidationResult, validate } from "@cfworker/json-schema";
import type { Json } from "../protocol/common.ts";
import { schemaIssues } from "./json-schema-issues.ts";
import { schemaShape } from "./json-schema-shape.ts";
import { invalid, type Loc, tooDeep, ValidationFailure } from "./validation.ts";
import { issuesOf } from "./zod-issues.ts";

type JsonSchema = Record<string, Json>;

/** A schema made ready to hold inputs against. */
interface Prepared {
  schema: Schema | boolean;
  /** All of its parts, by absolute address: where a `$ref` leads. */
  lookup: ReturnType<typeof dereference>;
  meter: Meter;
}

/**
 * Refuses a schema that would fail whatever is held against it, or could take for ever.
 * @param loc where in the request it stands
 * @throws ValidationFailure, one issue for each keyword that is wrong
 */
export function checkSchema(schema: JsonSchema, loc: Loc): void {
  try {
    // What needs no end for null does so for all: a part that refers to itself, an avalanche of $ref.
    attempt(prepare(schema, loc), null);
  } catch (error) {
    if (error instanceof ValidationFailure) throw error;
    if (error instanceof RangeError) throw tooDeep(loc);
    throw invalid(loc, messageOf(error));
  }
}

/**
 * Holds an input against a version's schema.
 * @throws ValidationFailure with `loc` from `["body", "input"]` down; also for a schema that was
 *   published when less was checked and cannot be used
 */
export function validateInput(schema: JsonSchema, input: Json): void {
  const prepared = ready(schema);
  const { valid, errors } = hold(prepared, input);
  if (!valid) throw new ValidationFailure(schemaIssues(errors, { ...prepared, input }));
}

const LOC: Loc = ["body", "input"];

function ready(schema: JsonSchema): Prepared {
  try {
    return prepare(schema, ["body", "schema"]);
  } catch (error) {
    throw unusable(error);
  }
}

function prepare(source: JsonSchema, loc: Loc): Prepared {
  const parsed = schemaShape.safeParse(source);
  if (!parsed.success) {
    const issues = issuesOf(parsed.error, "body", source);
    throw new ValidationFailure(
      issues.map((issue) => ({ ...issue, loc: [...loc, ...issue.loc.slice(1)] })),
    );
  }
  const schema: Schema | boolean = parsed.data;
  const lookup = dereference(schema);
  const meter = new Meter();
  for (const [place, part] of Object.entries(lookup)) {
    if (typeof part === "boolean") continue;
    const target = part.__absolute_ref__ ?? part.$ref;
    if (target !== undefined && !(target in lookup)) {
      throw new Error(`${fragmentOf(place)}: $ref '${part.$ref}' leads to nothing in this schema`);
    }
    meter.watch(part);
  }
  return { schema, lookup, meter };
}

function hold(prepared: Prepared, input: Json): ValidationResult {
  try {
    return attempt(prepared, input);
  } catch (error) {
    // A recursive schema follows the input as deep as it goes: until the stack ends.
    if (error instanceof RangeError) throw tooDeep(LOC);
    // The validator writes names as parts of addresses.
    if (error instanceof URIError) throw invalid(LOC, "A name in it has half a character in it");
    if (error instanceof TooCostly) {
      const advice = "Send a smaller input, or leave out Validate-Input";
      throw invalid(LOC, `The model's input schema is too costly: ${error.message}. ${advice}`);
    }
    throw unusable(error);
  }
}

function attempt({ schema, lookup, meter }: Prepared, input: Json): ValidationResult {
  const run = (firstOnly: boolean) => {
    meter.reset();
    return validate(input, schema, "2020-12", lookup, firstOnly);
  };
  try {
    return run(false);
  } catch (error) {
    // Also from more mistakes than a call can have arguments (some 100,000): then the first of each list.
    if (error instanceof RangeError) return run(true);
    throw error;
  }
}

/** 0.3 s at most. A list of 90,000 numbers stays below it. */
const MAX_VISITS = 100_000;

class TooCostly extends Error {}

/**
 * Bounds the work of one validation: `allOf` of two references, twenty levels of it, are a million
 * visits to one part. The validator has no hook, but at each visit it reads all keywords that it
 * knows, `$recursiveRef` once; that is of 2019-09 alone, so that here it can stand for the count.
 */
class Meter {
  #left = MAX_VISITS;

  reset(): void {
    this.#left = MAX_VISITS;
  }

  watch(part: Schema): void {
    const cost = costOf(part);
    Object.defineProperty(part, "$recursiveRef", {
      configurable: true,
      get: () => {
        this.#left -= cost;
        if (this.#left >= 0) return;
        throw new TooCostly(`it takes more than ${MAX_VISITS} steps to hold an input against it`);
      },
    });
  }
}

/** A visit to a part; one with long lists counts for more, since its errors repeat them. */
function costOf({ enum: values, const: value, required, properties }: Schema): number {
  const listed = JSON.stringify([values, value, required, Object.keys(properties ?? {})]);
  return 1 + Math.floor(listed.length / 100);
}

const unusable = (error: unknown) =>
  invalid(
    LOC,
    `The model's input schema cannot be used (${messageOf(error)}). Leave out Validate-Input, or ask the model's owner for a new version`,
  );

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

const fragmentOf = (place: string) => `#${place.split("#")[1] ?? ""}`;
