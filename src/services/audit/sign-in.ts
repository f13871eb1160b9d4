/** Entries of the audit log about logins: sessions, passwords, passkeys and second factors. */
import type { EntryRow } from "../../domain/audit/entry.ts";
import { currentRequest } from "../../lib/current-request.ts";
import { logger } from "../../log.ts";
import type { AuditAction, AuditTarget } from "../../protocol/audit.ts";
import { findLogin } from "../../storage/accounts/sign-in.ts";
import { findUser } from "../../storage/accounts/users.ts";
import { countFailedSignIn } from "../../storage/audit/entries.ts";
import type { Services } from "../services.ts";
import { userTarget } from "./people.ts";
import { auditEntry } from "./record.ts";

/**
 * Returns the entry of what somebody does with their own login. At a sign-up there is no user yet: the email
 * address names them.
 * @param details `session_id` of a session that begins; without `target`, it is done with the user
 */
export async function loginEntry(
  { db }: Services,
  action: AuditAction,
  userId: string,
  {
    target,
    session_id,
    after,
  }: { target?: AuditTarget; session_id?: string; after?: Record<string, unknown> } = {},
): Promise<EntryRow> {
  const user = await findUser(db, userId);
  const username = user?.username ?? (await findLogin(db, userId))?.email ?? "";
  return auditEntry({
    action,
    account_id: userId,
    targets: [target ?? userTarget({ id: userId, username })],
    ...(after && { after }),
    ...((session_id !== undefined || !currentRequest()?.sender) && {
      sender: {
        type: "user",
        id: userId,
        name: username,
        ...(session_id !== undefined && { session_id }),
      },
    }),
  });
}

/** Counts a failed login in the background: its answer takes as long as ever. */
export function countFailure({ db }: Services): void {
  const counting = countFailedSignIn(db, new Date().toISOString().slice(0, 10)).catch((error) =>
    logger.error("Failed login not counted", { error }),
  );
  currentRequest()?.waitUntil(counting);
}
