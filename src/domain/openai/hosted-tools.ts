/**
 * Hosted tools, such as web search, run in the container rather than at the caller. Few containers have any;
 * those that do list them in their version's input schema. For all others they are omitted, unless the model
 * is required to use them.
 */
import type { Json } from "../../protocol/common.ts";
import { type Fields, fieldsOf, listOf, textOf } from "./response-json.ts";

/** Types of tools that the caller runs itself. */
export const CALLER_TOOLS = ["function", "custom", "namespace"];

export interface WithoutHostedTools {
  /** The request without the omitted tools. */
  request: Fields;
  /** The types of the omitted tools. */
  omittedTypes: string[];
  /** The type of an omitted tool that the request requires, or undefined. */
  requiredType: string | undefined;
}

/** @param schema of the version's input, which lists the `type` of each hosted tool in `tools` */
export function withoutHostedTools(request: Fields, schema: Fields): WithoutHostedTools {
  const { tools, tool_choice: choice } = request;
  const has = toolTypesIn(schema);
  const isMissing = (tool: Json) => {
    const type = textOf(fieldsOf(tool).type);
    // A tool without a type is passed on: the container reports the error.
    return type !== "" && !CALLER_TOOLS.includes(type) && !has.has(type);
  };
  const kept = listOf(tools).filter((tool) => !isMissing(tool));
  const missing = listOf(tools).filter(isMissing);
  const omittedTypes = [...new Set(missing.map((tool) => textOf(fieldsOf(tool).type)))];
  const { type, mode, tools: allowed } = fieldsOf(choice);
  if (type !== "allowed_tools") {
    const forced = choice === "required" && kept.length === 0 ? omittedTypes[0] : undefined;
    const requiredType =
      typeof choice === "object" && type && isMissing(choice) ? textOf(type) : forced;
    const rest = missing.length === 0 ? request : { ...request, tools: kept };
    return { request: rest, omittedTypes, requiredType };
  }
  const open = listOf(allowed).filter((tool) => !isMissing(tool));
  const closed = listOf(allowed).find(isMissing);
  const requiredType =
    mode === "required" && open.length === 0
      ? textOf(fieldsOf(closed).type) || undefined
      : undefined;
  return {
    request: { ...request, tools: kept, tool_choice: { ...fieldsOf(choice), tools: open } },
    omittedTypes,
    requiredType,
  };
}

/** Returns the types of tools that an input schema names. */
export const toolTypesIn = (schema: Fields): Set<string> =>
  typesIn(fieldsOf(fieldsOf(fieldsOf(schema.properties).tools).items));

function typesIn({ properties, anyOf, oneOf }: Fields): Set<string> {
  const { const: only, enum: some } = fieldsOf(fieldsOf(properties).type);
  const types = [only ?? null, ...listOf(some)].map(textOf).filter(Boolean);
  const inner = [...listOf(anyOf), ...listOf(oneOf)].flatMap((one) => [...typesIn(fieldsOf(one))]);
  return new Set([...types, ...inner]);
}
