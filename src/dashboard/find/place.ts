/** Where a person can go, or what they can do. */
import type { Item } from "./group.ts";

/** Who has such a page. */
export type Audience = "everybody" | "nobody" | "user" | "operator";

export interface Place extends Omit<Item, "hint"> {
  /** Other words for it, for people who call it otherwise. */
  words?: string;
  for: Audience;
}
