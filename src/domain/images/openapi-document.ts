/** The parts of an OpenAPI document that describe a model: its paths, and the schemas of a Cog model. */
import { isObject } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import { parseUntrusted } from "./untrusted-json.ts";

type Fields = { [name: string]: Json };

export interface OpenapiDocument {
  /** The version of OpenAPI. */
  version: string;
  paths: string[];
  /** `Input` and `Output` of a Cog model, with the schemas that they refer to. */
  schemas: Record<string, Fields>;
}

const fieldsOf = (value: Json | undefined): Fields => (isObject(value) ? value : {});

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

/**
 * Returns the document with only the parts that `readOpenapi` reads: that of vLLM has 200 KB, of which its
 * paths are 3.
 */
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

/** Adds the components that a schema refers to by name. */
export function addReferencedNames(value: Json, names: Set<string>): void {
  if (Array.isArray(value)) for (const part of value) addReferencedNames(part, names);
  else if (isObject(value))
    for (const [key, part] of Object.entries(value)) {
      if (key === "$ref" && typeof part === "string" && part.startsWith(COMPONENTS))
        names.add(part.slice(COMPONENTS.length));
      else addReferencedNames(part, names);
    }
}
