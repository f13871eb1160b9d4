/** Rewrites a responses call so that all tools, calls and choices are functions. */
import type { Json } from "../../protocol/common.ts";
import { CUSTOM_INPUT as INPUT, plainItems } from "./plain-items.ts";
import { type Fields, fieldsOf, listOf, textOf } from "./response-json.ts";
import { ToolNames } from "./tool-names.ts";

/** Makes all tools functions, except hosted ones such as web search. @throws NotSupportedByChat */
export function withPlainTools(request: Fields): Fields {
  const { tools, tool_choice, input } = request;
  const names = new ToolNames(tools);
  return {
    ...request,
    ...(Array.isArray(tools) && { tools: plainTools(tools, names) }),
    ...(tool_choice !== undefined && { tool_choice: plainChoice(tool_choice, names) }),
    ...(Array.isArray(input) && { input: plainItems(request).items.map(({ entry }) => entry) }),
  };
}

/**
 * Returns the input of a custom tool from a call's arguments: all of them if the model ignored the schema.
 */
export function customInputOf(args: string): string {
  try {
    const { [INPUT]: input } = fieldsOf(JSON.parse(args));
    return typeof input === "string" ? input : args;
  } catch {
    return args;
  }
}

/** Returns the path in the caller's request of each tool that the container gets. */
export const toolPaths = (tools: Json | undefined): string[] =>
  listOf(tools).flatMap((tool, index) => {
    const { type, tools: within } = fieldsOf(tool);
    if (type !== "namespace") return [`tools[${index}]`];
    return listOf(within).map((_, n) => `tools[${index}].tools[${n}]`);
  });

const plainTools = (tools: Json[], names: ToolNames): Json[] =>
  tools.flatMap((tool) => {
    const { type, name, description, tools: within } = fieldsOf(tool);
    if (type === "custom") return [functionOf(fieldsOf(tool), names.plain("", name))];
    if (type !== "namespace") return [tool];
    return listOf(within).map((one, n) => {
      const own = fieldsOf(one);
      // The namespace's description is sent once: it may have many tools.
      const descriptions = [n === 0 ? textOf(description) : "", textOf(own.description)];
      const joined = descriptions.filter(Boolean).join("\n\n");
      return functionOf({ ...own, description: joined }, names.plain(name, own.name));
    });
  });

function functionOf(tool: Fields, name: string): Fields {
  if (tool.type !== "custom") return { ...tool, type: "function", name };
  const { type, syntax, definition } = fieldsOf(tool.format);
  const grammar =
    type === "grammar"
      ? `Its \`${INPUT}\` follows this grammar (${textOf(syntax)}):\n${textOf(definition)}`
      : "";
  return {
    type: "function",
    name,
    description: [textOf(tool.description), grammar].filter(Boolean).join("\n\n"),
    parameters: {
      type: "object",
      properties: { [INPUT]: { type: "string" } },
      required: [INPUT],
      additionalProperties: false,
    },
    strict: null,
  };
}

function plainChoice(choice: Json, names: ToolNames): Json {
  const { type, tools, namespace, name } = fieldsOf(choice);
  if (type === "function" || type === "custom") {
    return { type: "function", name: names.plain(namespace, name) };
  }
  if (type !== "allowed_tools") return choice;
  return { ...fieldsOf(choice), tools: listOf(tools).map((tool) => plainChoice(tool, names)) };
}
