/** The messages of a conversation among the fields of an input, as any convention writes them. */
import { isObject } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";

export interface Message {
  role: string;
  text: string;
  /** Kinds of the parts that are no text: `image`, `tool call: weather`. */
  others: string[];
}

/** @returns undefined for what is no list of messages */
export function messagesIn(value: Json): Message[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const messages: Message[] = [];
  for (const one of value) {
    const message = messageOf(one);
    if (!message) return undefined;
    messages.push(message);
  }
  return messages;
}

function messageOf(value: Json): Message | undefined {
  if (!isObject(value) || typeof value.role !== "string" || !("content" in value)) return undefined;
  const { role, content, tool_calls } = value;
  const parts = typeof content === "string" ? [content] : (content ?? []);
  if (!Array.isArray(parts)) return undefined;
  const calls = Array.isArray(tool_calls) ? tool_calls : [];
  return {
    role,
    text: parts.map(textOf).filter(Boolean).join("\n"),
    others: [
      ...parts.filter((part) => textOf(part) === undefined).map(kindOf),
      ...calls.map((call) => `tool call${nameOf(isObject(call) ? call.function : null)}`),
    ],
  };
}

function textOf(part: Json): string | undefined {
  const text = isObject(part) ? part.text : part;
  return typeof text === "string" ? text : undefined;
}

/** `image_url`, `input_image` and `image` are the same to a reader. */
function kindOf(part: Json): string {
  const type = isObject(part) && typeof part.type === "string" ? part.type : "part";
  return `${type.replace(/^input_|_url$/g, "").replaceAll("_", " ")}${nameOf(part)}`;
}

const nameOf = (value: Json | undefined) =>
  isObject(value) && typeof value.name === "string" ? `: ${value.name}` : "";
