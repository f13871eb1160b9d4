/** Validates a form's input in the browser while it is typed, by the same rules as the service. */
import type { Json, ValidationIssue } from "../../protocol/common.ts";
import { SchemaParts } from "./json-schema-parts.ts";
import type { SchemaPart } from "./json-schema-shape.ts";
import { validate } from "./json-schema-validator.ts";

/**
 * Returns a checker. Inputs whose validation fails or takes too long count as valid: the service decides. So
 * do all texts that have a pattern, because the engine for patterns is larger than a whole page.
 * @param shape an output of `schemaShape`
 */
export function inputChecker(shape: SchemaPart): (input: Json) => ValidationIssue[] {
  const parts = new SchemaParts(shape);
  return (input) => {
    try {
      return validate(parts, input, () => undefined);
    } catch {
      return [];
    }
  };
}

/** Returns the message for each field. Issues of the whole input have an empty name. */
export function fieldMessages(issues: ValidationIssue[]): Map<string, string> {
  const messages = new Map<string, string>();
  for (const { loc, msg } of issues) {
    const [name = "", ...way] = loc.slice(2);
    if (!messages.has(name)) messages.set(name, way.length > 0 ? `${way.join(".")}: ${msg}` : msg);
  }
  return messages;
}
