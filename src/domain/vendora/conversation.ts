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

/**
 * The id by which an item is found: its own, or one of its type. The item itself stays as it was sent.
 * @param name what that ends with: as long as nothing else, it is new
 */
export function itemIdOf(item: ResponseItem, name = uuid().replaceAll("-", "")): string {
  return ownIdOf(item) ?? `${PREFIXES.get(textOf(item.type)) ?? "item"}_${name}`;
}

/** A longer one is not an id: nobody could ask for it. */
function ownIdOf({ id }: ResponseItem): string | undefined {
  return typeof id === "string" && id !== "" && id.length <= MAX_ID ? id : undefined;
}

/** The first id that occurs twice. */
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
