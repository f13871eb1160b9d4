/**
 * The items of a conversation as those that all containers support: messages, reasoning, calls of functions
 * and their results. Other items are history that newer clients and hosted services write. Calls and results
 * that belong together become those of a function; the rest is left out.
 */

import { type Fields, fieldsOf, listOf, textOf } from "../../lib/fields.ts";
import type { Json } from "../../protocol/common.ts";
import { NotSupportedByChat, type Placed, placed } from "./strict-chat.ts";
import { CALLER_TOOLS, ToolNames } from "./tools.ts";

/** The argument of a function that replaces a custom tool. */
const CUSTOM_INPUT = "input";

interface PlainItems {
  items: Placed[];
  omittedTypes: string[];
}

/** @throws NotSupportedByChat for an item that the answer depends on */
export function plainItems({ input, tools }: Fields): PlainItems {
  const all = placed(input, (index) => `input[${index}]`);
  const reader = new ItemReader(all, tools);
  const omitted = new Set<string>();
  const items = all.flatMap(({ entry, path }) => {
    const plain = reader.plain(entry, path);
    if (!plain) omitted.add(textOf(entry.type));
    return (plain ?? []).map((one) => ({ entry: one, path }));
  });
  return { items, omittedTypes: [...omitted] };
}

/** Returns the request with the tools of `additional_tools` and of searches in its conversation. */
export function withLoadedTools<Request extends { input?: unknown; tools?: Json }>(
  request: Request,
): Request {
  const given = listOf(request.tools);
  const known = new Set(given.map(keyOf));
  const loaded = listOf(request.input)
    .map(fieldsOf)
    .filter(({ type }) => type === "additional_tools" || type === "tool_search_output")
    .flatMap(({ tools }) => listOf(tools))
    .filter((tool) => known.size < known.add(keyOf(tool)).size);
  return loaded.length === 0 ? request : { ...request, tools: [...given, ...loaded] };
}

function keyOf(tool: Json): string {
  const { type, name, tools } = fieldsOf(tool);
  return JSON.stringify([type, name, listOf(tools).map((one) => fieldsOf(one).name)]);
}

const CALL = /_call$/;
const RESULT = /_output$/;

/** The longest type that is compared: types of hosted tools are shorter. */
const MAX_TYPE = 100;

class ItemReader {
  readonly #names: ToolNames;
  readonly #hosted: Set<string>;
  readonly #calls = new Set<string>();
  readonly #results = new Set<string>();

  constructor(all: Placed[], tools: Json | undefined) {
    this.#names = new ToolNames(tools);
    const types = listOf(tools).map((tool) => textOf(fieldsOf(tool).type));
    this.#hosted = new Set(types.filter((type) => type !== "" && !CALLER_TOOLS.includes(type)));
    for (const { entry } of all) {
      const isResult = RESULT.test(textOf(entry.type));
      (isResult ? this.#results : this.#calls).add(callIdOf(entry));
    }
  }

  /** Returns undefined for an item that is left out. */
  plain(item: Fields, path: string): Fields[] | undefined {
    const { type, namespace, name, input, ...rest } = item;
    switch (type ?? "message") {
      case "message":
      case "reasoning":
      case "item_reference":
      case "function_call_output":
        return [item];
      case "function_call":
        return [
          namespace
            ? { type: "function_call", ...rest, name: this.#names.plain(namespace, name) }
            : item,
        ];
      case "custom_tool_call": {
        const args = JSON.stringify({ [CUSTOM_INPUT]: textOf(input) });
        const plain = this.#names.plain(namespace, name);
        return [{ type: "function_call", ...rest, name: plain, arguments: args }];
      }
      case "custom_tool_call_output":
        return [{ ...rest, type: "function_call_output" }];
      case "additional_tools":
        return [];
      case "agent_message":
        return agentMessage(item);
      case "compaction":
      case "compaction_summary":
      case "context_compaction":
        throw new NotSupportedByChat(
          path,
          "this compaction was created by another service. Send the conversation instead.",
        );
      case "compaction_trigger":
        throw new NotSupportedByChat(
          path,
          "a conversation is compacted with POST /openai/v1/responses/compact.",
        );
      default:
        return this.#isHosted(textOf(type)) ? [item] : this.#asFunction(item);
    }
  }

  /** Whether the type begins with that of a hosted tool. There may be tens of thousands of both. */
  #isHosted(type: string): boolean {
    for (let length = 1; length <= Math.min(type.length, MAX_TYPE); length++)
      if (this.#hosted.has(type.slice(0, length))) return true;
    return false;
  }

  #asFunction(item: Fields): Fields[] | undefined {
    const type = textOf(item.type);
    const call_id = callIdOf(item);
    if (type === "mcp_call") {
      const { name = "", arguments: args = "", output, error } = item;
      const result = textOf(output) || JSON.stringify(error ?? "");
      return [
        { type: "function_call", call_id, name, arguments: args },
        { type: "function_call_output", call_id, output: result },
      ];
    }
    if (RESULT.test(type) && this.#calls.has(call_id))
      return [{ type: "function_call_output", call_id, output: outputOf(item) }];
    if (RESULT.test(type) || !this.#results.has(call_id)) return undefined;
    const { type: _, id: __, call_id: ___, status: ____, ...rest } = item;
    const name = type.replace(CALL, "");
    return [{ type: "function_call", call_id, name, arguments: JSON.stringify(rest) }];
  }
}

const callIdOf = ({ call_id, id }: Fields) => textOf(call_id) || textOf(id);

function outputOf({ type: _, id: __, call_id: ___, status: ____, ...item }: Fields): Json {
  const { output, tools } = item;
  const { type, image_url } = fieldsOf(output);
  if (typeof output === "string") return output;
  if (type === "computer_screenshot")
    return [{ type: "input_image", image_url: image_url ?? null }];
  const isContent = listOf(output).some((part) => textOf(fieldsOf(part).type).startsWith("input_"));
  if (isContent) return listOf(output);
  if (Array.isArray(tools)) {
    const names = tools.map((tool) => textOf(fieldsOf(tool).name)).filter(Boolean);
    return `Found tools: ${names.join(", ") || "none"}`;
  }
  return JSON.stringify(output ?? item);
}

/** Returns a message of another agent. Undefined if only its own service can read it. */
function agentMessage({ author, recipient, content }: Fields): Fields[] | undefined {
  const text = listOf(content)
    .map((part) => textOf(fieldsOf(part).text))
    .filter(Boolean)
    .join("\n");
  if (text === "") return undefined;
  const head = `Message from ${textOf(author) || "an agent"} to ${textOf(recipient) || "you"}:`;
  return [
    { type: "message", role: "user", content: [{ type: "input_text", text: `${head}\n${text}` }] },
  ];
}

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

/** Returns the input of a custom tool: all arguments if the model ignored the schema. */
export function customInputOf(args: string): string {
  try {
    const { [CUSTOM_INPUT]: input } = fieldsOf(JSON.parse(args));
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
      ? `Its \`${CUSTOM_INPUT}\` follows this grammar (${textOf(syntax)}):\n${textOf(definition)}`
      : "";
  return {
    type: "function",
    name,
    description: [textOf(tool.description), grammar].filter(Boolean).join("\n\n"),
    parameters: {
      type: "object",
      properties: { [CUSTOM_INPUT]: { type: "string" } },
      required: [CUSTOM_INPUT],
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
