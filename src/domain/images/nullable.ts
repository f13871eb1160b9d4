/**
 * `nullable` of OpenAPI 3.0 where the upgrade to 3.1 leaves null out: beside `anyOf`, as Cog 0.16 writes
 * an optional union, and beside `enum`. (Strictly read, 3.0 does not allow null there; its authors do.)
 */
import { isObject } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";

type Schema = { [keyword: string]: Json };

/** Keywords with a schema, with a list of schemas, and with schemas by name. All others have data. */
const PARTS = new Set(["additionalProperties", "items", "not"]);
const LISTS = new Set(["allOf", "anyOf", "oneOf"]);
const MAPS = new Set(["$defs", "definitions", "patternProperties", "properties"]);

export function withNulls(schema: Json): Json {
  if (!isObject(schema)) return schema;
  const parts = Object.entries(schema).map(([keyword, value]): [string, Json] => {
    if (PARTS.has(keyword)) return [keyword, withNulls(value)];
    if (LISTS.has(keyword) && Array.isArray(value)) return [keyword, value.map(withNulls)];
    return [keyword, MAPS.has(keyword) && isObject(value) ? withNullsInEach(value) : value];
  });
  return schema.nullable === true
    ? allowingNull(Object.fromEntries(parts))
    : Object.fromEntries(parts);
}

export const withNullsInEach = (schemas: Schema): Schema =>
  Object.fromEntries(Object.entries(schemas).map(([name, part]) => [name, withNulls(part)]));

function allowingNull(schema: Schema): Schema {
  const { nullable, anyOf, oneOf, ...rest } = schema;
  if (!("type" in rest) && (anyOf === undefined) !== (oneOf === undefined)) {
    // In a `oneOf`, a branch that allows null as well would make it two.
    const union = Array.isArray(anyOf) ? anyOf : [{ oneOf: oneOf ?? [] }];
    return { ...rest, anyOf: [...union, { type: "null" }] };
  }
  const { enum: values } = schema;
  return Array.isArray(values) && !values.includes(null)
    ? { ...schema, enum: [...values, null] }
    : schema;
}
