/** Conversations as requests name them, and their items. */
import { v7 as uuid } from "uuid";
import type { ResponseItem, ResponseRequest } from "../../protocol/vendora/response.ts";
import { textOf } from "./response-json.ts";

/** Of its object: whoever has the id finds the object without asking anybody. */
export const conversationIdOf = (objectId: string) => `conv_${objectId}`;

/** @returns undefined for what is no id of a conversation */
export const objectIdOf = (conversationId: string): string | undefined =>
  /^conv_([0-9a-f]{64})$/.exec(conversationId)?.[1];

/** The id of a request's conversation. */
export function conversationIdIn({
  conversation,
}: Pick<ResponseRequest, "conversation">): string | undefined {
  return (typeof conversation === "string" ? conversation : conversation?.id) ?? undefined;
}

/** The prefixes of ids by types; others have that of any item. */
const PREFIXES = new Map(
  Object.entries({
    "": "msg",
    message: "msg",
    reasoning: "rs",
    function_call: "fc",
    custom_tool_call: "ctc",
    compaction: "cmp",
  }),
);

const MAX_ID = 100;

/** An item and the id by which it is found: its own, or a new one. The item itself stays as it was sent. */
export function identified(item: ResponseItem): { id: string; item: ResponseItem } {
  const own = textOf(item.id);
  const prefix = PREFIXES.get(textOf(item.type)) ?? "item";
  const id = own !== "" && own.length <= MAX_ID ? own : `${prefix}_${uuid().replaceAll("-", "")}`;
  return { id, item };
}

/** The first id that occurs twice. */
export function duplicateId(items: ResponseItem[]): string | undefined {
  const seen = new Set<string>();
  for (const { id, type } of items) {
    if (typeof id !== "string" || id === "" || type === "item_reference") continue;
    if (seen.has(id)) return id;
    seen.add(id);
  }
  return undefined;
}
