/** Counts the tokens of a request: the body of a call that counts them, and an estimate from its length. */

import { type Fields, fieldsOf, isFields, listOf, textOf } from "../../lib/fields.ts";
import type { Json } from "../../protocol/common.ts";
import { chatRequestOf } from "../openai/chat-request.ts";
import { encodedSource } from "./image-sources.ts";

/** The characters per token, typical for English text in most models' tokenizers. */
const CHARACTERS_PER_TOKEN = 4;
/** The tokens of an image of any size: the convention's own service counts about as many. */
const IMAGE_TOKENS = 1_500;

const IMAGES = new Set<unknown>(["image", "input_image"]);

/** Fields that are not counted: ids, types and encoded files are no text. */
const NO_TEXT = new Set([
  ...["type", "id", "tool_use_id", "call_id", "cache_control", "signature", "encrypted_content"],
  ...["data", "file_data", "url", "image_url"],
]);

export const estimatedTokens = ({
  system,
  messages,
  tools,
}: {
  [name: string]: Json | undefined;
}) =>
  Math.ceil(charactersIn([system ?? null, messages ?? null, tools ?? null]) / CHARACTERS_PER_TOKEN);

/** Counts characters. Not recursive, because the depth is not limited. */
function charactersIn(content: Json): number {
  let count = 0;
  for (const waiting = [content]; waiting.length > 0; ) {
    const one = waiting.pop() ?? null;
    if (typeof one === "string") count += one.length;
    else if (Array.isArray(one)) for (const part of one) waiting.push(part);
    else if (isFields(one)) {
      if (IMAGES.has(one.type)) count += IMAGE_TOKENS * CHARACTERS_PER_TOKEN;
      for (const [name, value] of Object.entries(one)) if (!NO_TEXT.has(name)) waiting.push(value);
    } else if (one !== null) count += String(one).length;
  }
  return count;
}

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
