/** Rate limits of signing in and signing up. */
import { clientNetwork, limitRate, limitSignIn } from "../../middleware/rate-limit.ts";
import { limitSignUpAttempts } from "../../services/sign-in/sign-up-attempts.ts";
import type { PageContext } from "../context.ts";

/**
 * Counts against the network and against the account, so that neither many accounts can be tried
 * from one network nor one account from many. The limit of a network is lower than that of an
 * account: a single network cannot lock an owner out.
 * @param tried an email address, or the session that confirms its password
 * @throws ProblemError too_many_requests
 */
export async function limitAttempts(c: PageContext, tried?: string): Promise<void> {
  await limitSignIn(c);
  if (tried !== undefined) await limitRate(c, "account", tried);
}

/**
 * A sign-up reveals whether an email address has an account, so each network, or each invitation,
 * gets a few a day.
 * @throws ProblemError too_many_requests
 */
export async function limitSignUps(c: PageContext, invitationId?: string): Promise<void> {
  const { services } = c.var;
  if (!services.settings.rateLimits) return;
  await limitSignUpAttempts(services, invitationId ?? clientNetwork(c));
}
