/** Entries of the audit log about people: their memberships and their invitations. */
import type { Sender } from "../../lib/current-request.ts";
import type { Role } from "../../protocol/organization.ts";
import { auditEntry } from "./record.ts";

interface Named {
  id: string;
  username: string;
}

export type MemberAction = "member.added" | "member.updated" | "member.removed";

/** @param roles before and after; null: none */
export const memberEntry = (
  action: MemberAction,
  organizationId: string,
  user: Named,
  roles: { before?: Role; after?: Role },
  sender?: Sender,
) =>
  auditEntry({
    action,
    account_id: organizationId,
    targets: [userTarget(user)],
    before: { role: roles.before },
    after: { role: roles.after },
    ...(sender && { sender }),
  });

export const userTarget = ({ id, username }: Named) => ({ type: "user", id, name: username });

export const invitationTarget = ({ id, note }: { id: string; note: string }) => ({
  type: "invitation",
  id,
  name: note,
});
