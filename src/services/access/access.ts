import { type Access, accessToAccount, type Principal } from "../../domain/accounts/access.ts";
import { notVisible, ProblemError } from "../../errors/errors.ts";
import type { Priority } from "../../protocol/common.ts";
import type { Scope } from "../../protocol/operator.ts";
import { findModelNames } from "../../storage/accounts/tokens.ts";
import type { Services } from "../services.ts";

/**
 * @param what "The model 'demo/text-generation'"
 * @throws ProblemError not_found, forbidden
 */
export async function requireAccess(
  services: Services,
  caller: Caller | undefined,
  access: Access,
  what: string,
): Promise<void> {
  if (access === "granted") return;
  if (access === "hidden" || !caller) throw notVisible(what);
  const it = what.charAt(0).toLowerCase() + what.slice(1);
  throw access === "owner only"
    ? new ProblemError("forbidden", `Only its owner can change ${it} or see its variables.`)
    : await notFor(services, caller, it);
}

/** Requires access to resources of the whole account. @throws ProblemError forbidden */
export const requireAccountAccess = (
  services: Services,
  caller: Caller,
  what: string,
): Promise<void> => requireAccess(services, caller, accessToAccount(caller), what);

async function notFor({ db }: Services, { token_id }: Caller, it: string) {
  const names = (await findModelNames(db, token_id))?.models ?? [];
  const limits =
    names.length > 0
      ? `is limited to ${names.toSorted().join(", ")}`
      : "is limited to models that no longer exist";
  return new ProblemError(
    "forbidden",
    `This token ${limits} and does not cover ${it}. Create another at /tokens.`,
  );
}

export const isSuspended = ({ suspended_at }: { suspended_at: number | null }): boolean =>
  suspended_at !== null;

export const SUSPENDED = "This account is suspended. Ask the operator of this deployment why.";

/** A user with an access token, or with a session, which covers all models. */
export interface Caller extends Principal {
  scopes: Scope[];
  token_name?: string;
  /** The only priority that the caller's predictions may have. Null: any. */
  priority: Priority | null;
  /** Whether the request was authenticated by a session of the dashboard. */
  is_session?: boolean;
}

export interface RunnerCaller {
  token_id: string;
  /** When D1 last confirmed the token, Unix ms: at most 10 s ago, or 60 s while D1 fails. */
  token_known_at: number;
  /** The hardware classes that the token allows. */
  hardware: string[];
}
