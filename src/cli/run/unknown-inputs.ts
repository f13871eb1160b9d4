/** Inputs that a version does not have: a server of Cog's leaves them out without a word. */

import { formFields } from "../../domain/schemas/input-form.ts";
import { listOf } from "../../domain/schemas/input-form-schema.ts";
import { resolvePointer } from "../../domain/schemas/json-pointer.ts";
import { versionSchema } from "../../domain/schemas/version-schemas.ts";
import { isObject } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import type { Version } from "../../protocol/model.ts";
import { nearest } from "./nearest.ts";

/** @returns those of the names that it surely does not have, each with the names that it has */
export function unknownInputs(
  { schemas, configuration }: Pick<Version, "schemas" | "configuration">,
  given: readonly string[],
): { name: string; names: string[] }[] {
  // A server of OpenAI's API gets all of it, and takes more than its schema names.
  if (configuration.interface === "vendora") return [];
  const schema = versionSchema(schemas, "input");
  const names = formFields(schema).map(({ name }) => name);
  if (names.length === 0 || takesMore(schema, schema)) return [];
  return [...new Set(given)]
    .filter((name) => !names.includes(name))
    .map((name) => ({ name, names }));
}

/** `ada/story:1 has no input “nam”: did you mean name? It has: name, times.` */
export function noSuchInput(who: string, name: string, names: readonly string[]): string {
  const meant = nearest(name, names);
  const hint = meant === undefined ? "." : `: did you mean ${meant}?`;
  return `${who} has no input “${name}”${hint} It has: ${names.join(", ")}.`;
}

/** What says of other names whether they may be there, or names them in one case and not in another. */
const KEYWORDS = [
  ...["additionalProperties", "unevaluatedProperties", "patternProperties", "propertyNames"],
  ...["anyOf", "oneOf", "if", "dependentSchemas", "$dynamicRef"],
];
/** Of references, which may go round in a circle. */
const MAX_DEPTH = 8;

function takesMore(root: Json, part: Json | undefined, depth = 0): boolean {
  if (!isObject(part) || depth > MAX_DEPTH) return true;
  if (KEYWORDS.some((keyword) => keyword in part)) return true;
  const { $ref, allOf } = part;
  const referred = typeof $ref === "string" ? [resolvePointer(root, $ref)] : [];
  return [...referred, ...listOf(allOf)].some((one) => takesMore(root, one, depth + 1));
}
