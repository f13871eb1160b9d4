/** Accounts, in whichever shape a deployment serves them. */
import { type Owner, user } from "../../protocol/user.ts";
import type { Service } from "./service.ts";

export const ownerName = (owner: Owner): string =>
  "username" in owner ? owner.username : owner.name;

/** Whose token it is: a check of the token, too. */
export async function usernameOf(service: Service): Promise<string> {
  const own = await service.get("/user", user);
  return "username" in own ? own.username : own.name;
}
