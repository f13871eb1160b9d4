/** The schemas of a version, from the OpenAPI document of a Cog model. */
import { upgradeFromThreeToThreeOne } from "@scalar/openapi-upgrader/3.0-to-3.1";
import { isObject } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import type { Schemas } from "../../protocol/model.ts";
import { MAX_SCHEMA_CHARS } from "../schemas/check-version-schemas.ts";
import { withNullsInEach } from "./nullable.ts";
import { type OpenapiDocument, referencedNames } from "./openapi-document.ts";

type Fields = { [name: string]: Json };

/**
 * In JSON Schema 2020-12, which Cog's OpenAPI 3.0 is not. Undefined if the document has neither an input
 * nor an output: that of a model that can only be trained, or of another server.
 */
export function cogSchemas(document: OpenapiDocument): Schemas | undefined {
  const { Input, Output, ...others } = upgraded(document);
  if (Input === undefined && Output === undefined) return undefined;
  const input = Input ?? { type: "object" };
  const output = Output ?? {};
  const named = new Set([input, output, ...Object.values(others)].flatMap(namesIn));
  const referred = { ...others, ...(Input && { Input }), ...(Output && { Output }) };
  const components = Object.entries(referred).filter(([name]) => named.has(name));
  return {
    prediction: { input, output, stream_output: output["x-cog-array-type"] === "iterator" },
    ...(components.length > 0 && { components: { schemas: Object.fromEntries(components) } }),
  };
}

const namesIn = (schema: Fields) => [...referencedNames(schema)];

/** Names that a document has and its schemas have not are shorter than the margin. */
const MAX_UPGRADED_CHARS = MAX_SCHEMA_CHARS + 1_000;

function upgraded({ version, schemas }: OpenapiDocument): Record<string, Fields> {
  if (!version.startsWith("3.0")) return schemas;
  // Refused by whoever checks them: to upgrade 360 kB takes half a second before.
  if (JSON.stringify(schemas).length > MAX_UPGRADED_CHARS) return schemas;
  const document: unknown = upgradeFromThreeToThreeOne({
    openapi: version,
    components: { schemas: withNullsInEach(schemas) },
  });
  const components = isObject(document) && isObject(document.components) && document.components;
  return components && isObject(components.schemas) ? asSchemas(components.schemas) : {};
}

const asSchemas = (schemas: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(schemas).filter((entry): entry is [string, Fields] => isObject(entry[1])),
  );
