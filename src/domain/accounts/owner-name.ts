/** Accounts, in either shape that a deployment serves. */
import type { Owner } from "../../protocol/user.ts";

/** Returns the part before the name of a model in its path. */
export const ownerName = (owner: Owner): string =>
  "username" in owner ? owner.username : owner.name;
