/** Organizations for random requests, which seldom make one and then use it. */
import { newToken } from "../../../../src/protocol/operator.ts";
import { newOrganizationInvitation } from "../../../../src/protocol/organization.ts";
import { userA } from "../../../../src/protocol/user.ts";
import type { Caller, Callers } from "./callers.ts";
import type { Harvest } from "./harvest.ts";

/** Sends a request, and returns the answer if it succeeded. */
type Make = (
  method: string,
  path: string,
  body: object | undefined,
  options: { by: Caller },
) => Promise<{ text: string } | undefined>;

/**
 * Makes an organization of the user and one of the stranger, with an invitation to each and a token. The
 * operator makes them, since a user can make few.
 */
export async function makeOrganizations(
  make: Make,
  harvest: Harvest,
  { user, stranger, operator }: Callers,
  name: string,
): Promise<void> {
  const people = await Promise.all(
    [user, stranger].map(async (by) => {
      const me = await make("GET", "/user", undefined, { by });
      return me && userA.parse(JSON.parse(me.text)).username;
    }),
  );
  for (const [n, by] of [user, stranger].entries()) {
    const organization = `${name}-${n}`;
    const body = { username: organization, owner: people[n] };
    await make("POST", "/operator/organizations", body, { by: operator });
    const path = `/organizations/${organization}`;
    const invited = await make("POST", `${path}/invitations`, { role: "owner" }, { by });
    if (!invited) continue;
    const { id, invitation } = newOrganizationInvitation.parse(JSON.parse(invited.text));
    if (by === stranger) {
      harvest.putBody("/user/organizations", { invitation });
      continue;
    }
    const token = await make("POST", `${path}/tokens`, { name: "made" }, { by });
    const token_id = token && newToken.parse(JSON.parse(token.text)).id;
    harvest.put({ organization, invitation_id: id, ...(token_id && { token_id }) });
    // A second owner can be removed.
    await make("PUT", `/operator${path}/owners/${people[1]}`, {}, { by: operator });
    harvest.put({ organization, username: people[1] ?? "" });
  }
}
