/** What the RPC methods of a conversation object take and return. Times are unix ms. */
import type { Access, Principal } from "../../domain/accounts/access.ts";

/** Who calls. */
export type Member = Pick<Principal, "user_id" | "models">;

export type Metadata = Record<string, string>;

export interface Head {
  metadata: Metadata;
  created_at: number;
}

/**
 * An item as JSON: the service checks and presents it. In UTF-8, since a message has 32 MiB at most, and
 * 2 bytes for each character of a text that has one outside Latin-1.
 */
export interface ItemJson {
  id: string;
  json: Uint8Array;
}

/** A response that is under way: the conversation takes no other meanwhile. */
export interface Turn {
  prediction_id: string;
  /** How many items of its input were the conversation's. */
  given: number;
  began_at: number;
}

/** Not there, or not for this token. */
export interface Refused {
  refused: Exclude<Access, "granted">;
}

/** It has more than was asked for at most: nothing has been done, and it can be asked for again. */
export type Large = "large";

/** All items as a JSON array. `too long`: a request may not have as much. */
export type Said = { items: string } | "too long" | Large | Refused;

/** The same, or the response that is under way. */
export type Begun = Said | { busy: Turn };

/** `full`: there would be too many, or they would be too large. */
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
