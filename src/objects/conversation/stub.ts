/** The only way to conversation objects. */
import type { Bindings } from "../../env.ts";
import { bounded } from "../bounded.ts";
import { inJurisdiction } from "../jurisdiction.ts";

export type ConversationStub = ReturnType<typeof conversationAt>;

export const newConversationObjectId = (env: Bindings) =>
  inJurisdiction(env, env.CONVERSATION).newUniqueId().toString();

/** @throws TypeError if `objectId` is no id of a conversation object of this deployment */
export const conversationAt = (env: Bindings, objectId: string) => {
  const id = env.CONVERSATION.idFromString(objectId);
  return bounded(() => env.CONVERSATION.get(id), {
    // A second `begin` or `add` would find the first.
    repeatable: [
      "create",
      "head",
      "setMetadata",
      "update",
      "settle",
      "all",
      "page",
      "item",
      "discard",
    ],
  });
};

/** @returns undefined if `objectId` is no id of a conversation object of this deployment */
export function conversationWithId(env: Bindings, objectId: string): ConversationStub | undefined {
  try {
    return conversationAt(env, objectId);
  } catch {
    return undefined;
  }
}
