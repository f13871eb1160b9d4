/** Schemas and the issues of schemas and inputs. */
import { validateInput } from "../../../src/domain/schemas/json-schema.ts";
import { ValidationFailure } from "../../../src/domain/schemas/validation.ts";
import type { Json } from "../../../src/protocol/common.ts";

export type Schema = Record<string, Json>;

export const schemaIssues = (schema: Schema, input: Json) =>
  wholeIssues(schema, input).map(({ loc, type }) => `${loc.join(".")} ${type}`);

export function issuesOf(check: () => void) {
  try {
    check();
  } catch (error) {
    if (error instanceof ValidationFailure) return error.issues;
    throw error;
  }
  return [];
}

export const wholeIssues = (schema: Schema, input: Json) =>
  issuesOf(() => validateInput(schema, input));

export const object = (properties: Schema, more: Schema = {}): Schema => ({
  type: "object",
  properties,
  ...more,
});

/** Returns a schema with two references to the next level at each level. */
export function avalanche(keyword: string, levels: number, last: Schema): Schema {
  const $defs: Schema = { [`n${levels}`]: last };
  for (let n = 0; n < levels; n++) {
    const next = { $ref: `#/$defs/n${n + 1}` };
    $defs[`n${n}`] = { [keyword]: [next, next] };
  }
  return { $ref: "#/$defs/n0", $defs };
}

export function nested(keyword: string, levels: number): Schema {
  let schema: Schema = {};
  for (let n = 0; n < levels; n++) schema = { [keyword]: schema };
  return schema;
}
