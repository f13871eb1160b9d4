/** The parts of an OpenAPI document that describe a model: its paths, and the schemas of a Cog model. */
import { type Fields, fieldsOf } from "../../lib/fields.ts";
import { isObject } from "../../lib/json.ts";
import { exceededBound } from "../../lib/json-scan.ts";
import type { Json } from "../../protocol/common.ts";
import type { Schemas } from "../../protocol/model.ts";
import { faultOfSize, upgradedSchemas } from "../schemas/openapi-schemas.ts";

interface OpenapiDocument {
  version: string;
  paths: string[];
  /** `Input` and `Output` of a Cog model, with the schemas that they refer to. */
  schemas: Record<string, Fields>;
}

/** Returns undefined for a text that is no such document. */
export function readOpenapi(text: string): OpenapiDocument | undefined {
  const document = parseUntrusted(text);
  if (!isObject(document) || typeof document.openapi !== "string") return undefined;
  return {
    version: document.openapi,
    paths: Object.keys(fieldsOf(document.paths)),
    schemas: schemasOfModel(fieldsOf(fieldsOf(document.components).schemas)),
  };
}

/** Returns the fields of the body of POST at a path; undefined if the document does not describe it. */
export function bodyFields(text: string, path: string): Set<string> | undefined {
  const document = fieldsOf(parseUntrusted(text));
  const { post } = fieldsOf(fieldsOf(document.paths)[path]);
  const { content } = fieldsOf(fieldsOf(post).requestBody);
  const { schema } = fieldsOf(fieldsOf(content)["application/json"]);
  const { $ref } = fieldsOf(schema);
  const schemas = fieldsOf(fieldsOf(document.components).schemas);
  const name = typeof $ref === "string" ? $ref.slice(COMPONENTS.length) : "";
  const { properties } = fieldsOf(Object.hasOwn(schemas, name) ? schemas[name] : schema);
  return isObject(properties) ? new Set(Object.keys(properties)) : undefined;
}

/** Returns the document with only what `readOpenapi` reads: 3 KB of the 200 KB of vLLM's. */
export function condensedOpenapi(text: string): string | undefined {
  const document = readOpenapi(text);
  if (!document) return undefined;
  const { version, paths, schemas } = document;
  return JSON.stringify({
    openapi: version,
    paths: Object.fromEntries(paths.map((path) => [path, {}])),
    components: { schemas },
  });
}

/** Returns the schemas of the model. The other schemas are those of Cog's HTTP interface, and of training. */
function schemasOfModel(schemas: Fields): Record<string, Fields> {
  const names = new Set(["Input", "Output"]);
  const entries: [string, Fields][] = [];
  // The loop adds to the set that it reads.
  for (const name of names) {
    const schema = Object.hasOwn(schemas, name) ? schemas[name] : undefined;
    if (!isObject(schema)) continue;
    entries.push([name, schema]);
    addReferencedNames(schema, names);
  }
  return Object.fromEntries(entries);
}

const COMPONENTS = "#/components/schemas/";

function addReferencedNames(value: Json, names: Set<string>): void {
  if (Array.isArray(value)) for (const part of value) addReferencedNames(part, names);
  else if (isObject(value))
    for (const [key, part] of Object.entries(value)) {
      if (key === "$ref" && typeof part === "string" && part.startsWith(COMPONENTS))
        names.add(part.slice(COMPONENTS.length));
      else addReferencedNames(part, names);
    }
}

/** JSON text of an image or of a container, which may be anything. */

/** The bounds. Schemas of Cog models have a depth of 15 and some hundred values, vLLM's document 10,000. */
const BOUNDS = { depth: 64, values: 100_000 };

/** Returns undefined for a text that is not JSON, or exceeds the bounds. */
export function parseUntrusted(text: string): Json | undefined {
  try {
    return exceededBound(text, BOUNDS) ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The schemas that were read. `fault`: why schemas that exist cannot be used. */
export interface ReadSchemas {
  schemas?: Schemas | undefined;
  fault?: string | undefined;
}

/** The schemas in JSON Schema 2020-12, if the document has any: Cog's are of OpenAPI 3.0. */
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
