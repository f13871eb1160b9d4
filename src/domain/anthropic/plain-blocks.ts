/** Blocks of content as those that all containers support: others become text, or are left out. */

import { type Fields, fieldsOf, isFields, listOf, textOf } from "../../lib/fields.ts";
import type { Json } from "../../protocol/common.ts";
import {
  joinedContent,
  NotSupportedByChat,
  placed,
  reminder,
  splitSystem,
} from "../openai/strict-chat.ts";
import { toolTypesIn, type WithoutHostedTools } from "../openai/tools.ts";

/** The place of a block: a message with this role, or the result of a tool. */
export type BlockPlace = "user" | "assistant" | "system" | "result";

const KNOWN: Record<BlockPlace, string[]> = {
  user: ["text", "image", "document", "search_result", "tool_result"],
  assistant: ["text", "image", "thinking", "redacted_thinking", "tool_use"],
  system: ["text"],
  result: ["text", "image", "document", "search_result"],
};

const SUMMARY = "Summary of the conversation so far:";

/** Returns undefined for a block that is left out. @throws NotSupportedByChat for one that matters */
export function plainBlock(block: Fields, place: BlockPlace, path: string): Fields | undefined {
  const type = textOf(block.type);
  if (KNOWN[place].includes(type)) return block;
  const text = textIn(block);
  if (text !== undefined) return { type: "text", text };
  if (place !== "user" && place !== "system" && type !== "compaction") return undefined;
  throw new NotSupportedByChat(
    path,
    `the model's container does not support content of type '${type}'.`,
  );
}

function textIn({ type, text, content, tool, tool_name }: Fields): string | undefined {
  const { name, definition } = fieldsOf(tool);
  const changed = textOf(name) || textOf(fieldsOf(definition).name);
  switch (type) {
    case "tool_reference":
      return `Found tool: ${textOf(tool_name)}`;
    case "tool_addition":
      return `Added tool: ${changed}`;
    case "tool_removal":
      return `Removed tool: ${changed}`;
    case "compaction":
      return textOf(content) ? `${SUMMARY}\n\n${textOf(content)}` : undefined;
    default:
      return typeof text === "string" ? text : undefined;
  }
}

/** Returns the request with the tools that are left after blocks have added and removed some. */
export function withToolChanges(request: Fields): Fields {
  const changes = listOf(request.messages)
    .flatMap((message) => listOf(fieldsOf(message).content))
    .map(fieldsOf)
    .filter(({ type }) => type === "tool_addition" || type === "tool_removal");
  if (changes.length === 0) return request;
  const given = listOf(request.tools).map(fieldsOf);
  const removed = new Set<Json>();
  const added = new Map<Json, Fields>();
  for (const { type, tool } of changes) {
    const { name, definition } = fieldsOf(tool);
    const changed = textOf(name) || textOf(fieldsOf(definition).name);
    if (type === "tool_removal") removed.add(changed);
    else removed.delete(changed);
    if (isFields(definition)) added.set(changed, definition);
  }
  const all = [...given.filter(({ name }) => !added.has(name ?? null)), ...added.values()];
  return { ...request, tools: all.filter(({ name }) => !removed.has(name ?? null)) };
}

/**
 * Returns a request for a server that has messages itself: with blocks that it knows, and with system
 * messages in the places where chat templates accept them.
 * @throws NotSupportedByChat
 */
export function plainMessages(request: Fields): { request: Fields; omittedTypes: string[] } {
  const omitted = new Set<string>();
  const isHosted = listOf(request.tools).some(
    (tool) => !["", "custom"].includes(textOf(fieldsOf(tool).type)),
  );
  const { leading, rest } = splitMessages(request.messages);
  const content = (entry: Fields, place: BlockPlace, path: string): Json => {
    if (!Array.isArray(entry.content) || isHosted) return entry.content ?? "";
    return entry.content.map(fieldsOf).flatMap((block, n): Fields[] => {
      const where = `${path}.content.${n}`;
      const plain = plainBlock(block, place, where);
      if (!plain) omitted.add(textOf(block.type));
      if (plain?.type !== "tool_result" || !Array.isArray(plain.content))
        return plain ? [plain] : [];
      return [{ ...plain, content: content(plain, "result", where) }];
    });
  };
  const system = leading.map(({ entry, path }) => content(entry, "system", path));
  const messages: Fields[] = [];
  for (const { entry, path } of rest) {
    const { role } = entry;
    const own = content(entry, role === "assistant" || role === "system" ? role : "user", path);
    if (Array.isArray(own) && own.length === 0) continue;
    const message: Fields =
      role === "system" ? { role: "user", content: reminder(own) } : { ...entry, content: own };
    const last = messages.at(-1);
    if (last && last.role === message.role)
      last.content = joinedContent(
        [last.content, message.content],
        role === "assistant" ? "" : "\n",
      );
    else messages.push(message);
  }
  const all = request.system == null ? system : [request.system, ...system];
  return {
    request: {
      ...request,
      ...(system.length > 0 && { system: joinedContent(all, "\n\n") }),
      messages,
    },
    omittedTypes: [...omitted],
  };
}

export const splitMessages = (messages: Json | undefined) =>
  splitSystem(
    placed(messages, (index) => `messages.${index}`),
    ({ role, content }) => {
      if (role === "system") return "system";
      return listOf(content).some((block) => fieldsOf(block).type === "tool_result")
        ? "result"
        : "other";
    },
  );

/** Tools that run at the service are omitted, unless the version's input schema names them. */

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
