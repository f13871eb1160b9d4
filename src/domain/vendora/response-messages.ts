/** The items of a conversation as chat messages. */
import type { Json } from "../../protocol/common.ts";
import type { ResponseItem } from "../../protocol/vendora/response.ts";
import { type Fields, fieldsOf, listOf, textOf } from "./response-json.ts";

/** The request uses a feature of responses that chats do not have. The message is for the caller. */
export class NotSupportedByChat extends Error {
  override readonly name = "NotForChat";
  /** Its path in the body. */
  readonly param: string;

  constructor(param: string, message: string) {
    super(`${param}: ${message}`);
    this.param = param;
  }
}

/** A message, and the path in the caller's body that it comes from. */
export interface LocatedMessage {
  message: Fields;
  path: string;
  /** The paths of its tool calls. */
  callPaths: string[];
}

/**
 * Instructions and system items before the conversation become one message: the chat templates of
 * many models accept a system message only at the beginning.
 * @throws NotForChat
 */
export function messagesOf(instructions: string, items: ResponseItem[]): LocatedMessage[] {
  const messages: LocatedMessage[] = [];
  const add = (message: Fields, path: string) =>
    messages.push({ message, path: path, callPaths: [] });
  if (instructions) add({ role: "system", content: instructions }, "instructions");
  for (const [path, item] of items.entries()) {
    const param = `input[${path}]`;
    switch (item.type ?? "message") {
      case "message":
        addMessage(messages, messageOf(item, param), param);
        break;
      case "function_call":
        addCall(messages, item, param);
        break;
      case "function_call_output":
        add(
          {
            role: "tool",
            tool_call_id: item.call_id ?? "",
            content: contentOf(item.output, `${param}.output`, "\n"),
          },
          param,
        );
        break;
      case "reasoning":
        // Chat-only servers have no field for the reasoning of earlier turns.
        break;
      case "item_reference":
        throw new NotSupportedByChat(
          param,
          "references to items are not resolved: send the item itself.",
        );
      default:
        throw new NotSupportedByChat(
          param,
          `the model's container does not support items of type '${textOf(item.type)}'.`,
        );
    }
  }
  return messages;
}

function messageOf({ role, content }: ResponseItem, param: string): Fields {
  const where = `${param}.content`;
  // The chat templates of many open models do not know `developer`.
  if (role !== "assistant") {
    return {
      role: role === "developer" ? "system" : (role ?? "user"),
      content: contentOf(content, where, "\n"),
    };
  }
  const refusal = listOf(content)
    .map((part) => textOf(fieldsOf(part).refusal))
    .join("");
  const ownContent =
    typeof content === "string"
      ? content
      : listOf(content).filter((part) => fieldsOf(part).type !== "refusal");
  return { role, content: contentOf(ownContent, where, ""), ...(refusal && { refusal }) };
}

/** Adds it to the first system message if it belongs there. */
function addMessage(messages: LocatedMessage[], message: Fields, path: string): void {
  const [first] = messages;
  const { role, content } = message;
  if (role !== "system" || messages.length !== 1 || first?.message.role !== "system") {
    messages.push({ message, path: path, callPaths: [] });
    return;
  }
  const both = [first.message.content, content];
  first.message.content = both.every((one) => typeof one === "string")
    ? both.join("\n\n")
    : both.flatMap((one) =>
        typeof one === "string" ? [{ type: "text", text: one }] : listOf(one),
      );
}

/** Calls belong to the assistant message right before them, and several calls to the same one. */
function addCall(
  messages: LocatedMessage[],
  { call_id, name, arguments: args }: ResponseItem,
  path: string,
): void {
  const call = {
    id: call_id ?? "",
    type: "function",
    function: { name: name ?? "", arguments: args ?? "" },
  };
  const last = messages.at(-1);
  if (last?.message.role !== "assistant") {
    const message = { role: "assistant", content: null, tool_calls: [call] };
    messages.push({ message, path: path, callPaths: [path] });
    return;
  }
  last.message.tool_calls = [...listOf(last.message.tool_calls), call];
  last.callPaths.push(path);
}

/** Text alone becomes a string: some servers accept nothing else. @param glue between texts */
function contentOf(content: Json | undefined, param: string, glue: string): Json {
  if (typeof content === "string") return content;
  const parts = listOf(content).map((part, n) => partOf(fieldsOf(part), `${param}[${n}]`));
  return parts.every(({ type }) => type === "text")
    ? parts.map(({ text }) => textOf(text)).join(glue)
    : parts;
}

function partOf(part: Fields, param: string): Fields {
  switch (part.type) {
    case "input_text":
    case "output_text":
    case "text":
      return { type: "text", text: textOf(part.text) };
    case "input_image": {
      const { image_url, detail } = part;
      if (typeof image_url !== "string") {
        throw new NotSupportedByChat(param, "an image needs its address or data in 'image_url'.");
      }
      return { type: "image_url", image_url: { url: image_url, ...(detail && { detail }) } };
    }
    case "input_file": {
      const { file_data, file_id, filename } = part;
      if (!file_data && !file_id) {
        throw new NotSupportedByChat(param, "a file needs its content in 'file_data'.");
      }
      return {
        type: "file",
        file: {
          ...(file_data && { file_data }),
          ...(file_id && { file_id }),
          ...(filename && { filename }),
        },
      };
    }
    case "input_audio":
      return { type: "input_audio", input_audio: part.input_audio ?? null };
    default:
      throw new NotSupportedByChat(
        param,
        `the model's container does not support content of type '${textOf(part.type)}'.`,
      );
  }
}
