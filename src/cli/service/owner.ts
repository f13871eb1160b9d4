/** Whose the command is. */
import { ownerName } from "../../domain/accounts/owner-name.ts";
import { user } from "../../protocol/user.ts";
import type { Service } from "./service.ts";

/** Whose token it is: a check of the token, too. */
export async function usernameOf(service: Service): Promise<string> {
  return ownerName(await service.get("/user", user));
}
