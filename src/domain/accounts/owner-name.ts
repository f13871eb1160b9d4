/** Accounts, in whichever shape a deployment serves them. */
import type { Owner } from "../../protocol/user.ts";

/** What stands before the name of a model in its path. */
export const ownerName = (owner: Owner): string =>
  "username" in owner ? owner.username : owner.name;
