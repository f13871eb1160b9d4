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

/** A message, and where in the caller's body its words come from. */
export interface Placed {
  message: Fields;
  place: string;
  /** Of each of its calls. */
  calls: string[];
}

/**
 * What comes before the first word of the conversation is one message: the templates of many
 * models know one at the beginning and no other.
 * @throws NotForChat
 */
export function messagesOf(instructions: string, items: ResponseItem[]): Placed[] {
  const messages: Placed[] = [];
  const add = (message: Fields, place: string) => messages.push({ message, place, calls: [] });
  if (instructions) add({ role: "system", content: instructions }, "instructions");
  for (const [place, item] of items.entries()) {
    const param = `input[${place}]`;
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

/** To the one that begins the conversation, if it belongs to it. */
function addMessage(messages: Placed[], message: Fields, place: string): void {
  const [first] = messages;
  const { role, content } = message;
  if (role !== "system" || messages.length !== 1 || first?.message.role !== "system") {
    messages.push({ message, place, calls: [] });
    return;
  }
  const both = [first.message.content, content];
  first.message.content = both.every((one) => typeof one === "string")
    ? both.join("\n\n")
    : both.flatMap((one) =>
        typeof one === "string" ? [{ type: "text", text: one }] : listOf(one),
      );
}

/** Calls belong to what the model said right before them, and several of them together. */
function addCall(
  messages: Placed[],
  { call_id, name, arguments: args }: ResponseItem,
  place: string,
): void {
  const call = {
    id: call_id ?? "",
    type: "function",
    function: { name: name ?? "", arguments: args ?? "" },
  };
  const last = messages.at(-1);
  if (last?.message.role !== "assistant") {
    const message = { role: "assistant", content: null, tool_calls: [call] };
    messages.push({ message, place, calls: [place] });
    return;
  }
  last.message.tool_calls = [...listOf(last.message.tool_calls), call];
  last.calls.push(place);
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
