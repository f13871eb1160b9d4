/** The items of a conversation as chat messages. */

import { type Fields, fieldsOf, listOf, textOf } from "../../lib/fields.ts";
import type { Json } from "../../protocol/common.ts";
import { withPlainTools } from "./plain-items.ts";
import {
  isSystemRole,
  joinedContent,
  knownEffort,
  type LocatedMessage,
  NotSupportedByChat,
  objectText,
  type Placed,
  placed,
  reasoningFields,
  reminder,
  splitSystem,
  strictTurns,
  withoutDependents,
} from "./strict-chat.ts";

/** @param items that all containers support @throws NotSupportedByChat */
export function messagesOf(instructions: string, items: Placed[]): LocatedMessage[] {
  const { leading, rest } = splitSystem(items, kindOfItem);
  const turns: LocatedMessage[] = [];
  const lastUser = rest.findLastIndex(({ entry }) => entry.role === "user");
  let reasoning = "";
  for (const [index, { entry, path }] of rest.entries()) {
    switch (entry.type ?? "message") {
      case "message":
        turns.push({ message: messageOf(entry, path), path, callPaths: [] });
        break;
      case "function_call":
        addCall(turns, entry, path);
        break;
      case "function_call_output":
        turns.push({ message: resultOf(entry, path), path, callPaths: [] });
        break;
      case "reasoning":
        // Earlier reasoning is left out: templates drop the reasoning of turns before the last question
        // anyway.
        if (index > lastUser) reasoning = reasoningOf(entry);
        continue;
      case "item_reference":
        throw new NotSupportedByChat(
          path,
          "item references are not supported. Send the item itself.",
        );
      default:
        throw new NotSupportedByChat(
          path,
          `the model's container does not support items of type '${textOf(entry.type)}'.`,
        );
    }
    const last = turns.at(-1);
    if (reasoning && last?.message.role === "assistant") {
      const texts = [textOf(last.message.reasoning), reasoning].filter(Boolean);
      Object.assign(last.message, reasoningFields(texts.join("\n")));
    }
    reasoning = "";
  }
  return [...systemOf(instructions, leading), ...strictTurns(turns)];
}

function kindOfItem({ type, role }: Fields) {
  if (textOf(type).endsWith("_output")) return "result";
  return isSystemRole(role) ? "system" : "other";
}

function reasoningOf({ content, summary }: Fields): string {
  const texts = [content, summary].map((parts) =>
    listOf(parts)
      .map((part) => textOf(fieldsOf(part).text))
      .filter(Boolean)
      .join("\n"),
  );
  return texts.find(Boolean) ?? "";
}

function systemOf(instructions: string, leading: Placed[]): LocatedMessage[] {
  const [first] = leading;
  const contents = leading.map(({ entry, path }) =>
    contentOf(entry.content, `${path}.content`, "\n"),
  );
  const content = joinedContent(instructions ? [instructions, ...contents] : contents, "\n\n");
  const path = instructions ? "instructions" : first?.path;
  return path ? [{ message: { role: "system", content }, path, callPaths: [] }] : [];
}

function messageOf({ role, content }: Fields, param: string): Fields {
  const where = `${param}.content`;
  if (isSystemRole(role)) {
    return { role: "user", content: reminder(contentOf(content, where, "\n")) };
  }
  if (role !== "assistant") {
    return { role: role ?? "user", content: contentOf(content, where, "\n") };
  }
  const refusal = listOf(content)
    .map((part) => textOf(fieldsOf(part).refusal))
    .join("");
  const ownContent =
    typeof content === "string"
      ? content
      : listOf(content)
          .map(fieldsOf)
          .filter(({ type }) => type !== "refusal")
          .map((part) => historyPart(part, "text"));
  return { role, content: contentOf(ownContent, where, ""), ...(refusal && { refusal }) };
}

function resultOf({ call_id, output }: Fields, path: string): Fields {
  const content = Array.isArray(output)
    ? contentOf(
        output.map((part) => historyPart(fieldsOf(part), "text")),
        `${path}.output`,
        "\n",
      )
    : typeof output === "string"
      ? output
      : JSON.stringify(output ?? "");
  return { role: "tool", tool_call_id: call_id ?? "", content };
}

const KNOWN_PARTS = /^(?:input_(?:text|image|file|audio)|output_text|text|refusal)$/;

/** A part of the history: one of an unknown type is passed on as text. @param type of a text part */
const historyPart = (part: Fields, type: string): Fields =>
  KNOWN_PARTS.test(textOf(part.type))
    ? part
    : { type, text: textOf(part.text) || JSON.stringify(part) };

/** Adds a call to the assistant message right before it; several calls join the same message. */
function addCall(
  messages: LocatedMessage[],
  { call_id, name, arguments: args }: Fields,
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

/** Returns content: text alone becomes a string, since some servers accept nothing else. */
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
      if (typeof part.text === "string") return { type: "text", text: part.text };
      throw new NotSupportedByChat(
        param,
        `the model's container does not support content of type '${textOf(part.type)}'.`,
      );
  }
}

/** A request for a server with responses of its own, as strict servers and templates accept it. */

/** @throws NotSupportedByChat */
export function strictResponse(asked: Fields): Fields {
  const request = withPlainTools(asked);
  const { reasoning, input } = request;
  const { effort } = fieldsOf(reasoning);
  return withoutDependents({
    ...(Array.isArray(input) ? withSystemFirst(request) : request),
    ...(effort != null && { reasoning: { ...fieldsOf(reasoning), effort: knownEffort(effort) } }),
  });
}

/** Joins leading system items with the instructions, which servers make a system message, too. */
function withSystemFirst({ instructions, input, ...request }: Fields): Fields {
  const { leading, rest } = splitSystem(
    placed(input, (index) => `input[${index}]`),
    kindOfItem,
  );
  const texts = [textOf(instructions), ...leading.map(({ entry }) => textIn(entry))];
  const first = { type: "message", role: "system", content: texts.filter(Boolean).join("\n\n") };
  const turns = joinedUsers(
    rest.map(({ entry }) =>
      isSystemRole(entry.role)
        ? { type: "message", role: "user", content: reminder(entry.content, "input_text") }
        : withKnownParts(entry),
    ),
  );
  if (leading.length > 0) return { ...request, input: [first, ...turns] };
  return { ...request, ...(instructions != null && { instructions }), input: turns };
}

/** Joins messages of the user: templates expect that the user and the assistant take turns. */
function joinedUsers(items: Fields[]): Fields[] {
  const all: Fields[] = [];
  for (const item of items) {
    const last = all.at(-1);
    if (item.role === "user" && last?.role === "user") {
      const content = joinedContent([last.content, item.content], "\n", "input_text");
      all[all.length - 1] = { type: "message", role: "user", content };
    } else all.push(item);
  }
  return all;
}

function withKnownParts(item: Fields): Fields {
  const { type, role, content, output } = item;
  if (role === "assistant" && Array.isArray(content))
    return { ...item, content: content.map((part) => historyPart(fieldsOf(part), "output_text")) };
  if (type === "function_call_output" && Array.isArray(output))
    return { ...item, output: output.map((part) => historyPart(fieldsOf(part), "input_text")) };
  return type === "function_call" ? { ...item, arguments: objectText(item.arguments) } : item;
}

const textIn = ({ content }: Fields): string =>
  typeof content === "string"
    ? content
    : listOf(content)
        .map((part) => textOf(fieldsOf(part).text))
        .filter(Boolean)
        .join("\n");
