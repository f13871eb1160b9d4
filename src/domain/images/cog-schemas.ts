/** The schemas of a version, from the OpenAPI document of a Cog model. */
import type { Schemas } from "../../protocol/model.ts";
import { upgradedSchemas } from "../schemas/openapi-schemas.ts";
import { faultOfSize } from "../schemas/schema-size.ts";
import { addReferencedNames, type OpenapiDocument } from "./openapi-document.ts";

/** The schemas that were read. `fault`: why schemas that exist cannot be used. */
export interface ReadSchemas {
  schemas?: Schemas | undefined;
  fault?: string | undefined;
}

/**
 * Returns the schemas in JSON Schema 2020-12, which Cog's OpenAPI 3.0 is not. Nothing if the document has
 * neither an input nor an output, such as that of a model that can only be trained, or of another server.
 */
export function cogSchemas(document: OpenapiDocument): ReadSchemas {
  // Larger schemas could not be published, and upgrading 360 kB takes half a second.
  const fault = faultOfSize(document.schemas);
  if (fault !== undefined) return { fault };
  const { Input, Output, ...others } = document.version.startsWith("3.0")
    ? upgradedSchemas(document.schemas)
    : document.schemas;
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
