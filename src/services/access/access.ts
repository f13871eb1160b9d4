import {
  type Access,
  accessToAccount,
  accessToPrediction,
  type Principal,
} from "../../domain/accounts/access.ts";
import type { ClientLimits } from "../../domain/money/reservation.ts";
import { notVisible, ProblemError } from "../../errors/errors.ts";
import type { Priority } from "../../protocol/common.ts";
import { DEFAULT_SCOPES, type Scope } from "../../protocol/operator.ts";
import type { Role } from "../../protocol/organization.ts";
import type { TokenLimits } from "../../protocol/token-limits.ts";
import { sees } from "../../storage/accounts/reader-access.ts";
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
  if (access === "owner only")
    throw new ProblemError(
      "forbidden",
      `Only its owner can change ${it} or see its variables. If an organization owns it, use one of its tokens, or switch to it in the dashboard.`,
    );
  if (access !== "outside token") throw roleTooLow(caller.role, access, it);
  throw await notFor(services, caller, it);
}

/**
 * Requires access to resources of the whole account.
 * @param least the lowest role in an organization that has it
 * @throws ProblemError forbidden
 */
export async function requireAccountAccess(
  services: Services,
  caller: Caller,
  what: string,
  least: Role,
): Promise<void> {
  await requireAccess(services, caller, accessToAccount(caller, least), what);
  caller.needs = least;
}

/**
 * Requires a session, or a token without limits, where the caller decides who belongs to an organization or shares
 * a model: other people have every scope and priority, and stay when the caller's token has ended.
 * @param what "invite people"
 * @throws ProblemError forbidden
 */
export function requireUnlimited(
  { is_session, scopes, priority, limits, expires_at }: Caller,
  what: string,
): void {
  if (is_session) return;
  const missing = DEFAULT_SCOPES.filter((one) => !scopes.includes(one));
  const reasons = [
    ...missing.map((one) => `lacks the scope ${one}`),
    ...(priority === null ? [] : [`allows priority '${priority}' at most`]),
    ...(expires_at == null ? [] : ["expires"]),
    ...(limits ? ["has limits"] : []),
  ];
  if (reasons.length === 0) return;
  throw new ProblemError(
    "forbidden",
    `This token cannot ${what}: it ${reasons.join(" and ")}. Use a token with the scopes ${DEFAULT_SCOPES.join(", ")}, any priority, no expiry and no limits, or the dashboard.`,
  );
}

/** @param access `developer role` */
function roleTooLow(role: Role, access: `${Role} role`, it: string): ProblemError {
  const [least] = access.split(" ");
  return new ProblemError(
    "forbidden",
    `You need the role ${least} for ${it}, and yours is ${role}. Ask an ${least === "owner" ? "owner" : "admin"} of the organization.`,
  );
}

/** Returns where the account of a caller has its access tokens. */
export const tokensPage = ({ maker }: Pick<Caller, "maker">): string =>
  maker === "" ? "at /tokens" : "on the organization's page Access tokens";

async function notFor({ db }: Services, caller: Caller, it: string) {
  if (caller.client_id !== undefined)
    return new ProblemError(
      "forbidden",
      `This client token does not cover ${it}: your server names its models when it creates it.`,
    );
  const names = (await findModelNames(db, caller.token_id))?.models ?? [];
  const limits =
    names.length > 0
      ? `is limited to ${names.toSorted().join(", ")}`
      : "is limited to models that no longer exist";
  return new ProblemError(
    "forbidden",
    `This token ${limits} and does not cover ${it}. Create another ${tokensPage(caller)}.`,
  );
}

export const isSuspended = ({ suspended_at }: { suspended_at: number | null }): boolean =>
  suspended_at !== null;

/** @param who "The organization 'acme'" */
export const lacksSecondFactor = (who: string) =>
  new ProblemError(
    "forbidden",
    `${who} requires a second factor. Add one at /account/security, or log in again with the one that you have.`,
  );

export const SUSPENDED = "This account is suspended. Ask the operator of this deployment why.";

/** The error for a request whose caller could read the account or the prediction, or run the model, when it began. */
export const accessLost = () =>
  new ProblemError(
    "forbidden",
    "Your access to this account, prediction or model ended: your role in the organization was lowered, or the model is no longer shared with you.",
  );

/** The error for a long request of an operator who has been demoted meanwhile. */
export const operatorEnded = () =>
  new ProblemError("forbidden", "You are no longer an operator of this deployment.");

/**
 * Whether a request may go on that has been going on for a while.
 * @param now what its token may do now
 * @param caller the caller that the request began with
 */
export async function hasAccessStill(
  { db }: Services,
  now: Principal,
  { needs, reads, runs }: Caller,
): Promise<boolean> {
  if (needs && accessToAccount(now, needs) !== "granted") return false;
  if (reads && accessToPrediction(now, reads) !== "granted") return false;
  return runs === undefined || sees(db, now.user_id, runs.model_id);
}

/** A user with an access token, or with a session, which covers all models. */
export interface Caller extends Principal {
  scopes: Scope[];
  token_name?: string;
  /** The username or the name of the service token that `maker` is. Null or absent in one's own account. */
  maker_name?: string | null;
  /** When the token expires, Unix ms. Null or absent: never. */
  expires_at?: number | null;
  /** The only priority that the caller's predictions may have. Null: any. */
  priority: Priority | null;
  /** The limits of all use of the client token of the request. Absent: none. */
  client_limits?: ClientLimits;
  /** When the client token or stream token of the request expires, Unix ms: `token_id` has issued it. */
  signed_until?: number;
  /** The limits of the token. Null or absent: none. */
  limits?: TokenLimits | null;
  /** Whether the token is of a person who is an operator now. */
  is_operator?: boolean;
  /** Whether the request was authenticated by a session of the dashboard. */
  is_session?: boolean;
  /** Whether the session began with a second factor. */
  proves_factor?: boolean;
  /** The role for which the request reads the whole account, which is checked again as well. */
  needs?: Role;
  /** The prediction that the request reads: a long request is checked for it again (`hasAccessStill`). */
  reads?: { user_id: string; maker: string; client_id: string; model_id: string };
  /** The private model of another account that the request runs, which is checked again as well. */
  runs?: { model_id: string };
}

/** The caller of an endpoint for operators: a holder of OPERATOR_TOKEN, or an operator with a token of their own. */
export type Operator = { kind: "operator_token" } | { kind: "token"; caller: Caller };

export interface RunnerCaller {
  token_id: string;
  /** When D1 last confirmed the token, Unix ms: at most 10 s ago, or 60 s while D1 fails. */
  token_known_at: number;
  /** The hardware classes that the token allows. */
  hardware: string[];
}
