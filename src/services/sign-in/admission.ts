/** Decides who may create an account. */
import { ProblemError } from "../../errors/errors.ts";
import type { InvitationRow } from "../../storage/accounts/invitations.ts";
import { authenticateOperatorToken } from "../access/authentication.ts";
import { recordOperatorToken } from "../audit/record.ts";
import type { Services } from "../services.ts";
import { findInvitationToJoin, findOpenInvitation } from "./invitations.ts";

export const INVITATION_COOKIE = "auspex.invitation";

/** A session ends after this long without use. */
export const SESSION_SECONDS = 30 * 86_400;

/** How recent a login must be to add a passkey or delete an account: a stolen cookie is not enough. */
export const FRESH_SECONDS = 15 * 60;

export type Joining = NonNullable<Awaited<ReturnType<typeof findInvitationToJoin>>>;

/** The credentials for creating an account. */
export interface Admission {
  invitation: InvitationRow | undefined;
  /** The invitation to an organization, which the new account joins. */
  joining: Joining | undefined;
  /** Whether OPERATOR_TOKEN was entered. */
  operator: boolean;
  /** Whether OIDC_DOMAINS admits the person. Undefined: SIGN_UP decides. */
  by_domain?: boolean | undefined;
}

/** @throws ProblemError unauthenticated for a wrong OPERATOR_TOKEN */
export async function readAdmission(
  services: Services,
  credentials: { invitation?: string | undefined; operatorToken?: string | undefined },
): Promise<Admission> {
  const { operatorToken, invitation } = credentials;
  if (operatorToken !== undefined) await proveOperator(services, operatorToken, "POST /set-up");
  return {
    operator: operatorToken !== undefined,
    invitation: await findOpenInvitation(services, invitation),
    joining:
      invitation === undefined ? undefined : await findInvitationToJoin(services.db, invitation),
  };
}

/**
 * Requires OPERATOR_TOKEN, and records its use.
 * @param request its method and path
 * @throws ProblemError unauthenticated, unavailable
 */
export async function proveOperator(
  services: Services,
  operatorToken: string,
  request: string,
): Promise<void> {
  authenticateOperatorToken(services, operatorToken);
  await recordOperatorToken(services, request);
}

export const isAdmitted = (
  { settings }: Services,
  { invitation, joining, operator, by_domain }: Admission,
): boolean =>
  operator ||
  (by_domain ?? settings.signUp === "open") ||
  (settings.signUp === "invitation" &&
    (invitation !== undefined ||
      (joining !== undefined && settings.organizationInvitations === "new")));

/** Refuses a sign-up before the rest of it is checked. @throws ProblemError forbidden */
export function requireAdmitted(services: Services, admitted: Admission): void {
  if (!isAdmitted(services, admitted) && !admitted.invitation?.recovers)
    throw notAdmitted(services);
}

/** The admission for a sign-up with GitHub or OpenID Connect: an invitation for an existing user does not admit a new one. */
export const admissionOfNewUser = ({ invitation, ...others }: Admission): Admission => ({
  ...others,
  invitation: invitation?.user_id === null ? invitation : undefined,
});

/** A person at the OpenID Connect provider. */
interface Addressed {
  email: string;
  emailVerified: boolean;
}

/** Whether OIDC_DOMAINS admits a person. Undefined: SIGN_UP decides. */
export function isAdmittedByDomain(
  { settings }: Services,
  { email, emailVerified }: Addressed,
): boolean | undefined {
  const domains = settings.oidc?.domains ?? [];
  if (domains.length === 0) return undefined;
  return emailVerified && domains.includes(email.toLowerCase().replace(/.*@/, ""));
}

/** A stolen cookie is not enough to change how a person logs in. @throws ProblemError forbidden */
export function requireRecentLogin({ created_at }: { created_at: number }): void {
  if (Date.now() - created_at < FRESH_SECONDS * 1_000) return;
  throw new ProblemError(
    "forbidden",
    `This requires a login within the last ${FRESH_SECONDS / 60} minutes. Log out, log in again, and retry.`,
  );
}

export const notAdmitted = ({ settings }: Services) =>
  new ProblemError(
    "forbidden",
    settings.signUp === "closed"
      ? "Sign-ups are disabled. Contact the operator."
      : "You need an invitation to create an account. Open its link, or ask the operator for one.",
  );
