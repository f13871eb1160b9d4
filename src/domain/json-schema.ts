/** JSON Schema, 2020-12: whether a version's schema can be used, and whether an input fits it. */
import { dereference, type Schema, validate } from "@cfworker/json-schema";
import type { Json } from "../protocol/common.ts";
import { schemaIssues } from "./json-schema-issues.ts";
import { invalid, type Loc, tooDeep, ValidationFailure } from "./validation.ts";

type JsonSchema = Record<string, Json>;

/**
 * Refuses a schema that would fail whatever is held against it.
 * @param loc where in the request it stands
 * @throws ValidationFailure for a `$ref` that leads nowhere and a `pattern` that is none
 */
export function checkSchema(schema: JsonSchema, loc: Loc): void {
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
    if (error instanceof RangeError) throw tooDeep(loc);
    throw invalid(loc, error instanceof Error ? error.message : String(error));
  }
}

/**
 * Holds an input against a version's schema.
 * @throws ValidationFailure with `loc` from `["body", "input"]` down
 */
export function validateInput(schema: JsonSchema, input: Json): void {
  const lookup = dereference(schema);
  const { valid, errors } = attempt(schema, input, lookup);
  if (!valid) throw new ValidationFailure(schemaIssues(errors, { schema, lookup, input }));
}

function attempt(schema: Schema, input: Json, lookup: ReturnType<typeof dereference>) {
  try {
    return validate(input, schema, "2020-12", lookup, false);
  } catch (error) {
    // A recursive schema follows the input as deep as it goes: until the stack ends.
    if (error instanceof RangeError) throw tooDeep(["body", "input"]);
    throw error;
  }
}

const patternsOf = ({ pattern, patternProperties }: Schema) => [
  ...(pattern === undefined ? [] : [pattern]),
  ...Object.keys(patternProperties ?? {}),
];

const fragmentOf = (place: string) => place.slice(place.indexOf("#"));
