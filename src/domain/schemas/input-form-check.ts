/** Holds an input against a schema while it is typed: by the service's rules, in the browser. */
import type { Json, ValidationIssue } from "../../protocol/common.ts";
import { schemaIssues } from "./json-schema-issues.ts";
import type { SchemaPart } from "./json-schema-shape.ts";
import { prepareSchema, validate } from "./json-schema-validator.ts";

/**
 * What cannot be held against it, since that fails or takes too long, the service decides.
 * @param shape as schemaShape has left it, a copy of one's own
 */
export function inputChecker(shape: SchemaPart): (input: Json) => ValidationIssue[] {
  const prepared = prepareSchema(shape);
  return (input) => {
    try {
      return schemaIssues(validate(prepared, input).errors, { ...prepared, input });
    } catch {
      return [];
    }
  };
}

/** What to say at each field; what is wrong with none in particular is under no name. */
export function fieldMessages(issues: ValidationIssue[]): Map<string, string> {
  const messages = new Map<string, string>();
  for (const { loc, msg } of issues) {
    const [name = "", ...way] = loc.slice(2);
    if (!messages.has(name)) messages.set(name, way.length > 0 ? `${way.join(".")}: ${msg}` : msg);
  }
  return messages;
}
