/** Enforces access: turns the decisions of domain/accounts/access.ts into errors. */
import { type Access, accessToAccount } from "../../domain/accounts/access.ts";
import { notVisible, ProblemError } from "../../errors/errors.ts";
import { findModelNames } from "../../storage/accounts/tokens.ts";
import type { Services } from "../services.ts";
import type { Caller } from "./caller.ts";

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
