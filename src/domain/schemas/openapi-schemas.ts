/** Schemas of OpenAPI 3.0, as Cog writes them, in JSON Schema 2020-12. */
import { upgradeFromThreeToThreeOne } from "@scalar/openapi-upgrader/3.0-to-3.1";
import { isObject, type Json } from "../../lib/json.ts";
import type { Schemas } from "../../protocol/model.ts";
import { jsonText } from "./validation.ts";

type Schema = { [keyword: string]: Json };
type SchemasByName = Record<string, Schema>;

/** Names for input and output that no component has: they are no part of a path. */
const [INPUT, OUTPUT] = ["/input", "/output"];

/**
 * Upgrades the schemas of a version as they were sent, which may be those of Cog's `openapi.json`, unchanged.
 * Schemas do not state their dialect: only 3.0 has `nullable`, or exclusive bounds that are true or false.
 */
export function upgradedVersionSchemas(schemas: Schemas): Schemas {
  const { prediction, components } = schemas;
  const all = { ...components?.schemas, [INPUT]: prediction.input, [OUTPUT]: prediction.output };
  // Schemas that are too large are refused later. Upgrading 360 kB takes half a second.
  if (faultOfSize(schemas) !== undefined || !Object.values(all).some(isOfOpenapi30)) return schemas;
  const { [INPUT]: input = {}, [OUTPUT]: output = {}, ...others } = upgradedSchemas(all);
  return {
    prediction: { ...prediction, input, output },
    ...(components && { components: { ...components, schemas: others } }),
  };
}

export function upgradedSchemas(schemas: SchemasByName): SchemasByName {
  const document: unknown = upgradeFromThreeToThreeOne({
    openapi: "3.0.2",
    components: { schemas: withNullsInEach(schemas) },
  });
  const components = isObject(document) && isObject(document.components) && document.components;
  const upgraded = components && isObject(components.schemas) ? components.schemas : {};
  return Object.fromEntries(
    Object.entries(upgraded).filter((entry): entry is [string, Schema] => isObject(entry[1])),
  );
}

function isOfOpenapi30(schema: Json): boolean {
  if (!isObject(schema)) return false;
  const { nullable, exclusiveMinimum, exclusiveMaximum } = schema;
  if ([nullable, exclusiveMinimum, exclusiveMaximum].some((one) => typeof one === "boolean"))
    return true;
  return Object.entries(schema).some(([keyword, value]) => {
    if (PARTS.has(keyword)) return isOfOpenapi30(value);
    if (LISTS.has(keyword) && Array.isArray(value)) return value.some(isOfOpenapi30);
    return MAPS.has(keyword) && isObject(value) && Object.values(value).some(isOfOpenapi30);
  });
}

/** Keywords with a schema, with a list of schemas, and with schemas by name. All other keywords have data. */
const PARTS = new Set(["additionalProperties", "items", "not"]);
const LISTS = new Set(["allOf", "anyOf", "oneOf"]);
const MAPS = new Set(["$defs", "definitions", "patternProperties", "properties"]);

/**
 * Adds null where the upgrade of `nullable` leaves it out: next to `anyOf`, as Cog 0.16 writes an optional
 * union, and next to `enum`. (Strictly read, 3.0 does not allow null there; its authors do.)
 */
function withNulls(schema: Json): Json {
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

const withNullsInEach = (schemas: Schema): Schema =>
  Object.fromEntries(Object.entries(schemas).map(([name, part]) => [name, withNulls(part)]));

function allowingNull(schema: Schema): Schema {
  const { nullable, anyOf, oneOf, ...rest } = schema;
  if (!("type" in rest) && (anyOf === undefined) !== (oneOf === undefined)) {
    // A `oneOf` is wrapped: a branch that allows null as well would make two matches.
    const union = Array.isArray(anyOf) ? anyOf : [{ oneOf: oneOf ?? [] }];
    return { ...rest, anyOf: [...union, { type: "null" }] };
  }
  const { enum: values } = schema;
  return Array.isArray(values) && !values.includes(null)
    ? { ...schema, enum: [...values, null] }
    : schema;
}

/** Limits the size of schemas, which publishers write, and which other requests wait for. */

/** The characters of both schemas together: 1,000 versions of a model take 100 MB of D1's 10 GB. */
const MAX_CHARS = 100_000;

/** The parts of both schemas: each takes 13 µs to check, and Cog's have some hundred. */
const MAX_PARTS = 4_000;

/**
 * The characters of all paths together. The validator identifies each part by its path, as a text: 10,000
 * parts below one name of 60,000 characters are 600 MB, and took 9 minutes.
 */
const MAX_PATH_CHARS = 2_000_000;

/**
 * Returns why the schemas are too large; undefined: they are not. It also reads values that are not valid
 * schemas.
 * @throws ValidationFailure for a value that is nested too deep
 */
export function faultOfSize(schemas: Json): string | undefined {
  if (jsonText(schemas, ["body", "schemas"]).length > MAX_CHARS)
    return `they can have at most ${MAX_CHARS} characters as JSON`;
  const size = new Size();
  size.add(schemas, 0);
  if (size.parts > MAX_PARTS) return `they can have at most ${MAX_PARTS} objects and lists`;
  if (size.pathChars > MAX_PATH_CHARS)
    return "their names are too long. Shorten those that have the most parts below them";
  return undefined;
}

class Size {
  parts = 0;
  pathChars = 0;

  add(value: unknown, path: number): void {
    if (typeof value !== "object" || value === null) return;
    this.parts += 1;
    this.pathChars += path;
    const { $id, id } = isObject(value) ? value : {};
    // The paths of all parts below an id begin with it.
    const base = path + lengthOf($id) + lengthOf(id);
    for (const [name, part] of Object.entries(value)) this.add(part, base + name.length + 1);
  }
}

const lengthOf = (value: unknown) => (typeof value === "string" ? value.length : 0);
