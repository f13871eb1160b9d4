/** The only way to conversation objects. */

import type { Access, Principal } from "../../domain/accounts/access.ts";
import type { Bindings } from "../../env.ts";
import { bounded } from "./bounded.ts";
import { inJurisdiction } from "./jurisdiction.ts";

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

export type Participant = Pick<Principal, "user_id" | "maker" | "role" | "models">;

export type Metadata = Record<string, string>;

export interface Head {
  metadata: Metadata;
  created_at: number;
}

/**
 * An item as JSON: the service checks and presents it. The text is in UTF-8, since a message has 32 MiB at
 * most, and 2 bytes for each character of a string that has one outside Latin-1.
 */
export interface ItemJson {
  id: string;
  json: Uint8Array;
}

/** A response that is under way: the conversation takes no other meanwhile. */
export interface ConversationUpdate {
  prediction_id: string;
  /** How many items of the response's input were the conversation's. */
  given: number;
  began_at: number;
}

/** The conversation does not exist, or not for this token. */
export interface Refused {
  refused: Exclude<Access, "granted">;
}

/**
 * The conversation has more bytes than were asked for: nothing has been done, and the call can be repeated.
 */
export type Large = "large";

/** All items as a JSON array. `too long`: a request may not have as many. */
export type AllItems = { items: string } | "too long" | Large | Refused;

/** The items, or the response that is under way. */
export type Begun = AllItems | { busy: ConversationUpdate };

/** `full`: the items would be too many or too large. */
export type Added = "added" | "full" | { duplicate: string };

export interface ItemsPage {
  items: ItemJson[];
  has_more: boolean;
}

export interface ItemsRange {
  after: string | undefined;
  order: "asc" | "desc";
  limit: number;
}
