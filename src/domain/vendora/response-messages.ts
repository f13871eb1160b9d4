/** Items of a conversation as the messages of a chat. */
import type { Json } from "../../protocol/common.ts";
import type { ResponseItem } from "../../protocol/vendora/response.ts";
import { type Fields, fieldsOf, listOf, textOf } from "./response-json.ts";

/** What a chat cannot be asked, though a response can. The message is for the caller. */
export class NotForChat extends Error {
  override readonly name = "NotForChat";
  /** Where in the body. */
  readonly param: string;

  constructor(param: string, message: string) {
    super(`${param}: ${message}`);
    this.param = param;
  }
}

/** @throws NotForChat */
export function messagesOf(items: ResponseItem[]): Fields[] {
  const messages: Fields[] = [];
  for (const [place, item] of items.entries()) {
    const param = `input[${place}]`;
    switch (item.type ?? "message") {
      case "message":
        messages.push(messageOf(item, param));
        break;
      case "function_call":
        addCall(messages, item);
        break;
      case "function_call_output":
        messages.push({
          role: "tool",
          tool_call_id: item.call_id ?? "",
          content: contentOf(item.output, `${param}.output`, "\n"),
        });
        break;
      case "reasoning":
        // Servers that speak of chats only have no place for what was thought in earlier turns.
        break;
      case "item_reference":
        throw new NotForChat(param, "references to items are not resolved: send the item itself.");
      default:
        throw new NotForChat(
          param,
          `the model's container takes no items of type '${textOf(item.type)}'.`,
        );
    }
  }
  return messages;
}

function messageOf({ role, content }: ResponseItem, param: string): Fields {
  const where = `${param}.content`;
  // The templates of many open models know no `developer`.
  if (role !== "assistant") {
    return {
      role: role === "developer" ? "system" : (role ?? "user"),
      content: contentOf(content, where, "\n"),
    };
  }
  const refusal = listOf(content)
    .map((part) => textOf(fieldsOf(part).refusal))
    .join("");
  const said =
    typeof content === "string"
      ? content
      : listOf(content).filter((part) => fieldsOf(part).type !== "refusal");
  return { role, content: contentOf(said, where, ""), ...(refusal && { refusal }) };
}

/** Calls belong to what the model said right before them, and several of them together. */
function addCall(messages: Fields[], { call_id, name, arguments: args }: ResponseItem): void {
  const call = {
    id: call_id ?? "",
    type: "function",
    function: { name: name ?? "", arguments: args ?? "" },
  };
  const last = messages.at(-1);
  if (last?.role === "assistant") last.tool_calls = [...listOf(last.tool_calls), call];
  else messages.push({ role: "assistant", content: null, tool_calls: [call] });
}

/** Text alone becomes a string, which is all that some servers take. @param glue between texts */
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
        throw new NotForChat(param, "an image needs its address or data in 'image_url'.");
      }
      return { type: "image_url", image_url: { url: image_url, ...(detail && { detail }) } };
    }
    case "input_file": {
      const { file_data, file_id, filename } = part;
      if (!file_data && !file_id) {
        throw new NotForChat(param, "a file needs its content in 'file_data'.");
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
      throw new NotForChat(
        param,
        `the model's container takes no content of type '${textOf(part.type)}'.`,
      );
  }
}
