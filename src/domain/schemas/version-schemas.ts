/** A version's input and output schemas as self-contained documents, each with the shared components. */
import { isObject } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import type { Schemas } from "../../protocol/model.ts";
import { type Keywords, SchemaResolver } from "./input-form-schema.ts";

type Side = "input" | "output";
type JsonSchema = Record<string, Json>;

/** The documents by schemas. They are always the same objects, since other caches are keyed by them. */
const documents = new WeakMap<Schemas, Record<Side, JsonSchema>>();

/** Returns a schema in which `$ref: "#/components/schemas/…"` can be resolved. */
export function versionSchema(schemas: Schemas, side: Side): JsonSchema {
  if (!schemas.components) return schemas.prediction[side];
  const known = documents.get(schemas);
  if (known) return known[side];
  const { input, output } = schemas.prediction;
  const whole = {
    input: withComponents(input, schemas.components),
    output: withComponents(output, schemas.components),
  };
  documents.set(schemas, whole);
  return whole[side];
}

export const rootKeywords = (schemas: Schemas, side: Side): Keywords => {
  const schema = versionSchema(schemas, side);
  return new SchemaResolver(schema).resolve(schema);
};

/** Adds shared components; a schema's own components take precedence. */
function withComponents(
  schema: JsonSchema,
  { schemas }: NonNullable<Schemas["components"]>,
): JsonSchema {
  const { components } = schema;
  const own = isObject(components) && isObject(components.schemas) ? components.schemas : {};
  return { ...schema, components: { schemas: { ...schemas, ...own } } };
}
