/** The schemas of a version, from the OpenAPI document of a Cog model. */
import { upgradeFromThreeToThreeOne } from "@scalar/openapi-upgrader/3.0-to-3.1";
import { isObject } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import type { Schemas } from "../../protocol/model.ts";
import { faultOfSize } from "../schemas/schema-size.ts";
import { withNullsInEach } from "./nullable.ts";
import { addReferencedNames, type OpenapiDocument } from "./openapi-document.ts";

type Fields = { [name: string]: Json };

/** `fault`: there are some, and why they cannot be used. */
export interface ReadSchemas {
  schemas?: Schemas | undefined;
  fault?: string | undefined;
}

/**
 * In JSON Schema 2020-12, which Cog's OpenAPI 3.0 is not. Nothing if the document has neither an input
 * nor an output: that of a model that can only be trained, or of another server.
 */
export function cogSchemas(document: OpenapiDocument): ReadSchemas {
  // No larger ones could be published, and to upgrade 360 kB takes half a second.
  const fault = faultOfSize(document.schemas);
  if (fault !== undefined) return { fault };
  const { Input, Output, ...others } = upgraded(document);
  if (Input === undefined && Output === undefined) return {};
  const input = Input ?? { type: "object" };
  const output = Output ?? {};
  const named = new Set<string>();
  for (const schema of [input, output, ...Object.values(others)]) addReferencedNames(schema, named);
  const referred = { ...others, ...(Input && { Input }), ...(Output && { Output }) };
  const components = Object.entries(referred).filter(([name]) => named.has(name));
  return {
    schemas: {
      prediction: { input, output, stream_output: output["x-cog-array-type"] === "iterator" },
      ...(components.length > 0 && { components: { schemas: Object.fromEntries(components) } }),
    },
  };
}

function upgraded({ version, schemas }: OpenapiDocument): Record<string, Fields> {
  if (!version.startsWith("3.0")) return schemas;
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
