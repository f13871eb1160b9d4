/** Who may have an account. */
import { ProblemError } from "../../errors.ts";
import type { InvitationRow } from "../../storage/accounts/sign-in.ts";
import type { Services } from "../services.ts";
import { findOpenInvitation } from "./invitations.ts";
import { createOperatorProof } from "./operators.ts";

/** What somebody who wants an account has to show. */
export interface Admission {
  invitation: InvitationRow | undefined;
  /** That they hold OPERATOR_TOKEN. */
  operator_proof: string | null;
}

/** @throws ProblemError unauthenticated for a wrong OPERATOR_TOKEN */
export async function readAdmission(
  services: Services,
  shown: { invitation?: string | undefined; operatorToken?: string | undefined },
): Promise<Admission> {
  const { operatorToken } = shown;
  return {
    operator_proof:
      operatorToken === undefined ? null : await createOperatorProof(services, operatorToken),
    invitation: await findOpenInvitation(services, shown.invitation),
  };
}

export const isAdmitted = (
  { settings }: Services,
  { invitation, operator_proof }: Admission,
): boolean =>
  operator_proof !== null ||
  (invitation !== undefined ? settings.signUp !== "closed" : settings.signUp === "open");

/** Before anything else of a sign-up is looked at. @throws ProblemError forbidden */
export function requireAdmitted(services: Services, admitted: Admission): void {
  if (!isAdmitted(services, admitted) && !admitted.invitation?.recovers)
    throw notAdmitted(services);
}

/** As whom GitHub vouches for: an invitation for a user who is there is not for somebody new. */
export const admissionOfNewUser = ({ invitation, operator_proof }: Admission): Admission => ({
  invitation: invitation?.user_id === null ? invitation : undefined,
  operator_proof,
});

export const notAdmitted = ({ settings }: Services) =>
  new ProblemError(
    "forbidden",
    settings.signUp === "closed"
      ? "This deployment takes no new accounts. Ask its operator."
      : "New accounts here are by invitation: open the link of one, or ask the operator for it.",
  );
