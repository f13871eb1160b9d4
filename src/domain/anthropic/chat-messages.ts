/** The messages of a request as those of a chat. */

import { type Fields, fieldsOf, listOf, textOf } from "../../lib/fields.ts";
import type { Json } from "../../protocol/common.ts";
import {
  type LocatedMessage,
  NotSupportedByChat,
  reasoningFields,
  reminder,
} from "../openai/strict-chat.ts";
import { type BlockPlace, plainBlock, splitMessages } from "./plain-blocks.ts";

/** A coding agent's billing text, which differs in each request: no prompt would be found in a cache. */
const BILLING = "x-anthropic-billing-header";

interface Draft {
  role: "system" | "user" | "assistant" | "tool";
  parts: Fields[];
  calls: Fields[];
  callPaths: string[];
  thoughts: string[];
  callId?: string;
  path: string;
}

/** @throws NotSupportedByChat */
export function locatedMessages({ system, messages }: Fields): LocatedMessage[] {
  const drafts: Draft[] = [];
  addSystem(drafts, system, "system");
  const { leading, rest } = splitMessages(messages);
  for (const { entry, path } of leading) addSystem(drafts, entry.content, path);
  // Earlier reasoning is left out: templates drop the reasoning of turns before the last question anyway.
  const question = rest.findLastIndex(({ entry }) => entry.role === "user" && !hasResults(entry));
  for (const [index, { entry, path }] of rest.entries()) {
    const { role, content } = entry;
    if (role === "assistant") addAnswer(drafts, content, path, index > question);
    else if (role === "system") addReminder(drafts, content, path);
    else addQuestion(drafts, content, path);
  }
  return drafts.map(finished);
}

const hasResults = ({ content }: Fields) =>
  listOf(content).some((block) => fieldsOf(block).type === "tool_result");

/** Returns the last message if it has this role, or a new one: templates expect that roles take turns. */
function draftOf(drafts: Draft[], role: Draft["role"], path: string): Draft {
  const last = drafts.at(-1);
  if (last?.role === role && role !== "tool") return last;
  const draft: Draft = { role, parts: [], calls: [], callPaths: [], thoughts: [], path };
  drafts.push(draft);
  return draft;
}

function addSystem(drafts: Draft[], content: Json | undefined, path: string): void {
  const parts = systemParts(content, path);
  if (parts.length > 0) draftOf(drafts, "system", path).parts.push(...parts);
}

function addReminder(drafts: Draft[], content: Json | undefined, path: string): void {
  const parts = systemParts(content, path);
  if (parts.length === 0) return;
  const text = textOf(reminder(contentOf(parts, "\n\n")));
  draftOf(drafts, "user", path).parts.push(textPart(text));
}

const systemParts = (content: Json | undefined, path: string) =>
  partsOf(content ?? [], "system", path).filter(
    ({ text }) => textOf(text) !== "" && !textOf(text).startsWith(BILLING),
  );

function addAnswer(
  drafts: Draft[],
  content: Json | undefined,
  path: string,
  hasThoughts: boolean,
): void {
  if (typeof content === "string") {
    draftOf(drafts, "assistant", path).parts.push(textPart(content));
    return;
  }
  for (const [n, own] of listOf(content).map(fieldsOf).entries()) {
    const where = `${path}.content.${n}`;
    const block = plainBlock(own, "assistant", where);
    if (!block) continue;
    switch (block.type) {
      case "redacted_thinking":
        break;
      case "thinking":
        if (hasThoughts) draftOf(drafts, "assistant", path).thoughts.push(textOf(block.thinking));
        break;
      case "tool_use": {
        const draft = draftOf(drafts, "assistant", path);
        draft.calls.push({
          id: block.id ?? "",
          type: "function",
          function: { name: block.name ?? "", arguments: JSON.stringify(block.input ?? {}) },
        });
        draft.callPaths.push(where);
        break;
      }
      default:
        draftOf(drafts, "assistant", path).parts.push(...partsOfBlock(own, "assistant", where));
    }
  }
}

/** Adds a user's message. In a chat, results are messages right after the calls, without images. */
function addQuestion(drafts: Draft[], content: Json | undefined, path: string): void {
  const own: Fields[] = [];
  const blocks = typeof content === "string" ? [textPart(content)] : listOf(content).map(fieldsOf);
  for (const [n, block] of blocks.entries()) {
    const where = `${path}.content.${n}`;
    if (block.type !== "tool_result") {
      own.push(...partsOfBlock(block, "user", where));
      continue;
    }
    const result = draftOf(drafts, "tool", where);
    result.callId = textOf(block.tool_use_id);
    // A chat has no field for an error.
    if (block.is_error === true) result.parts.push(textPart("Error:"));
    for (const part of partsOf(block.content, "result", `${where}.content`))
      (part.type === "text" ? result.parts : own).push(part);
  }
  if (own.length > 0) draftOf(drafts, "user", path).parts.push(...own);
}

function finished({
  role,
  parts,
  calls,
  callPaths,
  thoughts,
  callId,
  path,
}: Draft): LocatedMessage {
  const content = contentOf(parts, role === "assistant" ? "" : role === "system" ? "\n\n" : "\n");
  const message: Fields = {
    role,
    ...(callId !== undefined && { tool_call_id: callId }),
    content: calls.length > 0 && parts.length === 0 ? null : content,
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(thoughts.length > 0 && reasoningFields(thoughts.join("\n"))),
  };
  return { message, path, callPaths };
}

function partsOf(content: Json | undefined, place: BlockPlace, path: string): Fields[] {
  if (typeof content === "string") return [textPart(content)];
  return listOf(content).flatMap((block, n) =>
    partsOfBlock(fieldsOf(block), place, `${path}.${n}`),
  );
}

/** Returns content: text alone becomes a string, since some servers accept nothing else. */
const contentOf = (parts: Fields[], glue: string): Json =>
  parts.every(({ type }) => type === "text")
    ? parts.map(({ text }) => textOf(text)).join(glue)
    : parts;

const textPart = (text: string): Fields => ({ type: "text", text });

/** @throws NotSupportedByChat */
function partsOfBlock(own: Fields, place: BlockPlace, path: string): Fields[] {
  const block = plainBlock(own, place, path);
  if (!block) return [];
  switch (block.type) {
    case "text":
      return [textPart(textOf(block.text))];
    case "image":
      return [{ type: "image_url", image_url: { url: imageUrl(fieldsOf(block.source), path) } }];
    case "document":
      return documentParts(block, place, path);
    case "search_result": {
      const heading = [block.title, block.source].map(textOf).filter(Boolean).join("\n");
      return [textPart(heading), ...partsOf(block.content, place, `${path}.content`)];
    }
    default:
      throw new NotSupportedByChat(
        path,
        `the model's container does not support content of type '${textOf(block.type)}'.`,
      );
  }
}

function imageUrl({ type, media_type, data, url }: Fields, path: string): string {
  if (type === "base64") return `data:${textOf(media_type)};base64,${textOf(data)}`;
  if (type === "url") return textOf(url);
  throw new NotSupportedByChat(`${path}.source`, "an image needs its data or its address.");
}

function documentParts(
  { source, title, context }: Fields,
  place: BlockPlace,
  path: string,
): Fields[] {
  const { type, media_type, data, content } = fieldsOf(source);
  const about = [title, context].map(textOf).filter(Boolean).map(textPart);
  switch (type) {
    case "text":
      return [...about, textPart(textOf(data))];
    case "content":
      return [...about, ...partsOf(content, place, `${path}.source.content`)];
    case "base64": {
      const file_data = `data:${textOf(media_type)};base64,${textOf(data)}`;
      return [{ type: "file", file: { filename: textOf(title) || "document.pdf", file_data } }];
    }
    default:
      throw new NotSupportedByChat(`${path}.source`, "a document needs its content.");
  }
}
