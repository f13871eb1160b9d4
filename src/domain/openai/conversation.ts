/** Conversations as requests name them, and their items. */
import { v7 as uuid } from "uuid";
import type { ResponseItem, ResponseRequest } from "../../protocol/openai/response.ts";
import { textOf } from "./response-json.ts";

/**
 * Returns the id of a conversation from the id of its object, so that the object is found without a look-up.
 */
export const conversationIdOf = (objectId: string) => `conv_${objectId}`;

/** @returns undefined for a text that is no id of a conversation */
export const objectIdOf = (conversationId: string): string | undefined =>
  /^conv_([0-9a-f]{64})$/.exec(conversationId)?.[1];

/** Returns the id of a request's conversation. */
export function conversationIdIn({
  conversation,
}: Pick<ResponseRequest, "conversation">): string | undefined {
  return (typeof conversation === "string" ? conversation : conversation?.id) ?? undefined;
}

/** The prefixes of ids by types; other types have that of any item. */
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

/**
 * Returns the id by which an item is found: its own, or one of its type. The item itself stays as it was
 * sent.
 * @param name the end of a new id, which is random by default
 */
export function itemIdOf(item: ResponseItem, name = uuid().replaceAll("-", "")): string {
  return ownIdOf(item) ?? `${PREFIXES.get(textOf(item.type)) ?? "item"}_${name}`;
}

/** Returns an item's own id. A longer one is not an id: nobody could ask for it. */
function ownIdOf({ id }: ResponseItem): string | undefined {
  return typeof id === "string" && id !== "" && id.length <= MAX_ID ? id : undefined;
}

/** Returns the first id that occurs twice. */
export function duplicateId(items: ResponseItem[]): string | undefined {
  const seen = new Set<string>();
  for (const item of items) {
    const id = ownIdOf(item);
    if (id === undefined || item.type === "item_reference") continue;
    if (seen.has(id)) return id;
    seen.add(id);
  }
  return undefined;
}
