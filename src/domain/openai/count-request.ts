/**
 * The body of a responses call as that of a message, for servers that count a message's tokens: it has only
 * the fields with tokens that both conventions have.
 */
import type { Json } from "../../protocol/common.ts";
import { encodedSource } from "../anthropic/image-sources.ts";
import { chatRequestOf } from "./chat-request.ts";
import { type Fields, fieldsOf, listOf, textOf } from "./response-json.ts";

/** @throws NotSupportedByChat */
export function countRequestOf(model: string, request: Fields): Fields & { model: string } {
  const { messages, tools } = chatRequestOf({ ...request, model });
  const said = listOf(messages).map(fieldsOf);
  const system = said.filter(({ role }) => role === "system").map(({ content }) => textIn(content));
  const counted = listOf(tools).map((tool) => {
    const { name, description, parameters } = fieldsOf(fieldsOf(tool).function);
    return {
      name: name ?? "",
      ...(description && { description }),
      input_schema: parameters ?? { type: "object" },
    };
  });
  return {
    model,
    messages: said.filter(({ role }) => role !== "system").map(messageOf),
    ...(system.length > 0 && { system: system.join("\n\n") }),
    ...(counted.length > 0 && { tools: counted }),
  };
}

function messageOf({ role, content, tool_call_id, tool_calls }: Fields): Fields {
  if (role === "tool") {
    const result = { type: "tool_result", tool_use_id: tool_call_id ?? "", content: content ?? "" };
    return { role: "user", content: [result] };
  }
  const calls = listOf(tool_calls).map((call) => {
    const { id, function: called } = fieldsOf(call);
    const { name, arguments: args } = fieldsOf(called);
    return { type: "tool_use", id: id ?? "", name: name ?? "", input: inputOf(textOf(args)) };
  });
  const parts = Array.isArray(content) ? content.map(blockOf) : textBlocks(textOf(content));
  return { role: role ?? "user", content: [...parts, ...calls] };
}

const textBlocks = (text: string): Json[] => (text === "" ? [] : [{ type: "text", text }]);

function blockOf(part: Json): Json {
  const { type, text, image_url } = fieldsOf(part);
  if (type !== "image_url") return { type: "text", text: textOf(text) };
  const url = textOf(fieldsOf(image_url).url);
  return { type: "image", source: encodedSource(url) ?? { type: "url", url } };
}

const textIn = (content: Json | undefined): string =>
  typeof content === "string"
    ? content
    : listOf(content)
        .map((part) => textOf(fieldsOf(part).text))
        .join("\n\n");

function inputOf(args: string): Fields {
  try {
    return fieldsOf(JSON.parse(args));
  } catch {
    return { arguments: args };
  }
}
