/** A version's schemas as documents of their own: each with the components that it refers to. */
import { isObject } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import type { Schemas } from "../../protocol/model.ts";
import { type Keywords, SchemaResolver } from "./input-form-schema.ts";

type Side = "input" | "output";
type JsonSchema = Record<string, Json>;

/** Always the same objects: what is found out about a schema is remembered by it. */
const made = new WeakMap<Schemas, Record<Side, JsonSchema>>();

/** `$ref: "#/components/schemas/…"` leads into the result. */
export function versionSchema(schemas: Schemas, side: Side): JsonSchema {
  if (!schemas.components) return schemas.prediction[side];
  const known = made.get(schemas);
  if (known) return known[side];
  const { input, output } = schemas.prediction;
  const whole = {
    input: withComponents(input, schemas.components),
    output: withComponents(output, schemas.components),
  };
  made.set(schemas, whole);
  return whole[side];
}

/** What a schema says at its root, also where that is said by reference. */
export const rootKeywords = (schemas: Schemas, side: Side): Keywords => {
  const schema = versionSchema(schemas, side);
  return new SchemaResolver(schema).resolve(schema);
};

/** A schema's own come first: it was cut out of its document with them. */
function withComponents(
  schema: JsonSchema,
  { schemas }: NonNullable<Schemas["components"]>,
): JsonSchema {
  const { components } = schema;
  const own = isObject(components) && isObject(components.schemas) ? components.schemas : {};
  return { ...schema, components: { schemas: { ...schemas, ...own } } };
}
