/**
 * Tools with a type of their own, such as `web_search_20250305` or `bash_20250124`, run at the service or
 * have a schema that only its models know. They are omitted, unless the version's input schema names
 * them.
 */
import type { Json } from "../../protocol/common.ts";
import { toolTypesIn, type WithoutHostedTools } from "../openai/hosted-tools.ts";
import { type Fields, fieldsOf, listOf, textOf } from "../openai/response-json.ts";

/** @param schema of the version's input, which lists the `type` of each such tool in `tools` */
export function withoutHostedTools(request: Fields, schema: Fields): WithoutHostedTools {
  const known = toolTypesIn(schema);
  const typeOf = (tool: Json | undefined) => textOf(fieldsOf(tool).type);
  const isMissing = (tool: Json) =>
    !["", "custom"].includes(typeOf(tool)) && !known.has(typeOf(tool));
  const tools = listOf(request.tools);
  const missing = tools.filter(isMissing);
  if (missing.length === 0) return { request, omittedTypes: [], requiredType: undefined };
  const kept = tools.filter((tool) => !isMissing(tool));
  const { type, name } = fieldsOf(request.tool_choice);
  const named = type === "tool" ? missing.find((tool) => fieldsOf(tool).name === name) : undefined;
  const required = type === "any" && kept.length === 0 ? missing[0] : named;
  const { tools: _, tool_choice, ...rest } = request;
  return {
    request:
      kept.length > 0
        ? { ...rest, tools: kept, ...(tool_choice !== undefined && { tool_choice }) }
        : rest,
    omittedTypes: [...new Set(missing.map(typeOf))],
    requiredType: typeOf(required) || undefined,
  };
}
