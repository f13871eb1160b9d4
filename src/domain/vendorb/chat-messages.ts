/** The messages of a request as those of a chat. */
import type { Json } from "../../protocol/common.ts";
import { type Fields, fieldsOf, listOf, textOf } from "../vendora/response-json.ts";
import type { LocatedMessage } from "../vendora/response-messages.ts";
import { contentOf, partsOf, partsOfBlock, textPart } from "./chat-parts.ts";

/**
 * A coding agent tells its billing in a system text of its own, which differs in each request: no server
 * would find the prompt in its cache again.
 */
const BILLING = "x-anthropic-billing-header";

/** A chat message whose content may still be added to. */
interface Draft {
  role: "system" | "user" | "assistant" | "tool";
  parts: Fields[];
  calls: Fields[];
  callPaths: string[];
  /** Of a tool's result. */
  callId?: string;
  path: string;
}

/** @throws NotSupportedByChat */
export function locatedMessages({ system, messages }: Fields): LocatedMessage[] {
  const drafts: Draft[] = [];
  addSystem(drafts, system, "system");
  for (const [n, message] of listOf(messages).map(fieldsOf).entries()) {
    const path = `messages.${n}`;
    const { role, content } = message;
    if (role === "assistant") addAnswer(drafts, content, path);
    else if (role === "system") addSystem(drafts, content, path);
    else addQuestion(drafts, content, path);
  }
  return drafts.map(finished);
}

/** The last message if it has this role, or a new one: templates expect that roles take turns. */
function draftOf(drafts: Draft[], role: Draft["role"], path: string): Draft {
  const last = drafts.at(-1);
  if (last?.role === role && role !== "tool") return last;
  const draft: Draft = { role, parts: [], calls: [], callPaths: [], path };
  drafts.push(draft);
  return draft;
}

function addSystem(drafts: Draft[], content: Json | undefined, path: string): void {
  const parts = partsOf(content ?? [], path).filter(
    ({ text }) => textOf(text) !== "" && !textOf(text).startsWith(BILLING),
  );
  if (parts.length > 0) draftOf(drafts, "system", path).parts.push(...parts);
}

function addAnswer(drafts: Draft[], content: Json | undefined, path: string): void {
  const draft = draftOf(drafts, "assistant", path);
  if (typeof content === "string") {
    draft.parts.push(textPart(content));
    return;
  }
  for (const [n, block] of listOf(content).map(fieldsOf).entries()) {
    const where = `${path}.content.${n}`;
    switch (block.type) {
      case "thinking":
      case "redacted_thinking":
        // Chat-only servers have no field for the thoughts of earlier turns.
        break;
      case "tool_use":
        draft.calls.push({
          id: block.id ?? "",
          type: "function",
          function: { name: block.name ?? "", arguments: JSON.stringify(block.input ?? {}) },
        });
        draft.callPaths.push(where);
        break;
      default:
        draft.parts.push(...partsOfBlock(block, where));
    }
  }
}

/** In a chat, results are messages of their own, right after the calls, and have no images. */
function addQuestion(drafts: Draft[], content: Json | undefined, path: string): void {
  const own: Fields[] = [];
  const blocks = typeof content === "string" ? [textPart(content)] : listOf(content).map(fieldsOf);
  for (const [n, block] of blocks.entries()) {
    const where = `${path}.content.${n}`;
    if (block.type !== "tool_result") {
      own.push(...partsOfBlock(block, where));
      continue;
    }
    const result = draftOf(drafts, "tool", where);
    result.callId = textOf(block.tool_use_id);
    for (const part of partsOf(block.content, `${where}.content`))
      (part.type === "text" ? result.parts : own).push(part);
  }
  if (own.length > 0) draftOf(drafts, "user", path).parts.push(...own);
}

function finished({ role, parts, calls, callPaths, callId, path }: Draft): LocatedMessage {
  const content = contentOf(parts, role === "assistant" ? "" : role === "system" ? "\n\n" : "\n");
  const message: Fields = {
    role,
    ...(callId !== undefined && { tool_call_id: callId }),
    content: calls.length > 0 && parts.length === 0 ? null : content,
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  return { message, path, callPaths };
}
