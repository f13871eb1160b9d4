/**
 * A compacted conversation: the model's own summary of it, as an item that later requests send in its place.
 * The convention's field for it is `encrypted_content`. It is not encrypted, so that no key needs to be kept:
 * it contains nothing that its reader may not know. It is text in base64 after a mark.
 */
import type { ResponseItem } from "../../protocol/openai/response.ts";
import { textOf } from "./response-json.ts";

const MARK = "auspex-summary-1:";

const TASK = `Summarize this conversation, so that it can go on from your summary alone: what was asked, what was found out and decided, names, numbers and code that matter, the results of tools, and what is still to be done. Write only the summary.`;

const INTRODUCTION = "Summary of the conversation so far:";

/** Returns the items that the model summarizes, followed by its task. */
export const withTask = (items: ResponseItem[]): ResponseItem[] => [
  ...items,
  { type: "message", role: "user", content: [{ type: "input_text", text: TASK }] },
];

export const compactionItem = (id: string, summary: string) => ({
  type: "compaction",
  id,
  encrypted_content: MARK + base64Of(new TextEncoder().encode(summary)),
});

/**
 * Replaces each such item by a message that every model understands. Items of other services stay as they
 * are.
 */
export const withSummaries = (items: ResponseItem[]): ResponseItem[] =>
  items.map((item) => {
    const summary =
      item.type === "compaction" ? summaryIn(textOf(item.encrypted_content)) : undefined;
    if (summary === undefined) return item;
    const text = `${INTRODUCTION}\n\n${summary}`;
    return { type: "message", role: "developer", content: [{ type: "input_text", text }] };
  });

function summaryIn(content: string): string | undefined {
  if (!content.startsWith(MARK)) return undefined;
  try {
    const bytes = Uint8Array.from(atob(content.slice(MARK.length)), (one) => one.charCodeAt(0));
    return new TextDecoder().decode(bytes);
  } catch {
    return undefined;
  }
}

function base64Of(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}
