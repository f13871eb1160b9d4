/**
 * Makes entries of the audit log from the request that is being answered. Services pass them to the statements
 * of storage, which write them in the transaction of the change.
 */
import { v7 as uuid } from "uuid";
import { changedFields, DEPLOYMENT, type EntryRow } from "../../domain/audit/entry.ts";
import { ProblemError } from "../../errors/errors.ts";
import { currentRequest, type Sender } from "../../lib/current-request.ts";
import { transientErrorIn } from "../../lib/transient-error.ts";
import { logger } from "../../log.ts";
import type { AuditAction, AuditContext, AuditTarget } from "../../protocol/audit.ts";
import { insertEntry } from "../../storage/audit/entries.ts";
import type { Caller } from "../access/access.ts";
import type { Services } from "../services.ts";

export interface Recorded {
  action: AuditAction;
  /** The account that the change concerns. Null: the deployment. */
  account_id: string | null;
  targets: AuditTarget[];
  /** The fields before and after: those that differ are recorded. Never secrets. */
  before?: Record<string, unknown>;
  after?: Record<string, unknown>;
  /** The user who acts, where the request has not been authenticated: at a sign-in or a sign-up. */
  sender?: Sender;
}

const MAX_USER_AGENT = 300;

/** Returns the entry of a change that the current request, or a sweep, makes. */
export function auditEntry(recorded: Recorded): EntryRow {
  const { action, account_id, targets, before = {}, after = {} } = recorded;
  const request = currentRequest();
  const { token_id, session_id, ...sender }: Actor = recorded.sender ?? request?.sender ?? SYSTEM;
  // The address of an operator is in the entry of their sign-in, which has the session; that of somebody with
  // OPERATOR_TOKEN in the entry of its use, which has the request.
  const isOperator = sender.type === "operator" || sender.type === "operator_token";
  const isForeign = isOperator && account_id !== null && account_id !== sender.id;
  const context: AuditContext = {
    ...(request?.ip && !isForeign && { ip: request.ip }),
    ...(request?.userAgent &&
      !isForeign && { user_agent: request.userAgent.slice(0, MAX_USER_AGENT) }),
    ...(token_id !== undefined && { token_id }),
    ...(session_id !== undefined && { session_id }),
    ...(request?.requestId !== undefined && { request_id: request.requestId }),
  };
  const changes = changedFields(before, after);
  const occurred_at = Date.now();
  return {
    id: idAt(occurred_at),
    account_id: account_id ?? DEPLOYMENT,
    action,
    actor_type: sender.type,
    actor_id: sender.id,
    actor_name: sender.name,
    targets: JSON.stringify(targets),
    context: JSON.stringify(context),
    changes: changes ? JSON.stringify(changes) : null,
    occurred_at,
  };
}

type Actor = Omit<Sender, "type"> & { type: Sender["type"] | "system" };

let last = { msecs: 0, seq: 0 };

/** Returns a UUIDv7 that sorts after those that this isolate has made in the same millisecond. */
function idAt(msecs: number): string {
  last = { msecs, seq: msecs === last.msecs ? last.seq + 1 : 0 };
  return uuid(last);
}

const SYSTEM: Actor = { type: "system", id: "", name: "Auspex" };

/** Someone with OPERATOR_TOKEN. */
export const OPERATOR_TOKEN_SENDER = {
  type: "operator_token",
  id: "",
  name: "OPERATOR_TOKEN",
} as const;

/**
 * Records a use of OPERATOR_TOKEN before anything is done with it.
 * @param name what is requested: a method and a path
 */
export const recordOperatorToken = (services: Services, name: string): Promise<void> =>
  recordRead(services, {
    action: "operator_token.used",
    account_id: null,
    targets: [{ type: "request", id: currentRequest()?.requestId ?? "", name }],
    sender: OPERATOR_TOKEN_SENDER,
  });

/** Returns who acts with a token or a session. A service token of an organization acts for nobody. */
export function senderOf({ token_id, token_name, user_id, maker, is_session }: Caller): Sender {
  const credential = is_session ? { session_id: token_id } : { token_id };
  return maker === token_id
    ? { type: "service_token", id: token_id, name: token_name ?? "", ...credential }
    : { type: "user", id: maker || user_id, name: "", ...credential };
}

/**
 * Records a read by an operator, or of a whole account, before its response; also a change that is no write to
 * D1, before it is made.
 * @throws ProblemError unavailable
 */
export async function recordRead({ db }: Services, recorded: Recorded): Promise<void> {
  try {
    await insertEntry(db, auditEntry(recorded));
  } catch (error) {
    if (transientErrorIn(error)) throw error;
    logger.error("Read not recorded", { action: recorded.action, error });
    throw new ProblemError(
      "unavailable",
      "This is recorded in the audit log, which cannot be written right now. Try again in a moment.",
      { "retry-after": "5" },
    );
  }
}
