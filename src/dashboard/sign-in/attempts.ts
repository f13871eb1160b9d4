/** How often somebody may try to get in. */
import { clientNetwork, limitRate, limitSignIn } from "../../middleware/rate-limit.ts";
import { limitSignUpAttempts } from "../../services/sign-in/sign-up-attempts.ts";
import type { PageContext } from "../context.ts";

/**
 * Counts against the network that it comes from, and against what is tried: neither many accounts
 * from one place nor one from many places. One place alone cannot use up what an account has, and so
 * keep its owner out.
 * @param tried an e-mail address, or the session that has to say its password again
 * @throws ProblemError too_many_requests
 */
export async function limitAttempts(c: PageContext, tried?: string): Promise<void> {
  await limitSignIn(c);
  if (tried !== undefined) await limitRate(c, "account", tried);
}

/**
 * A sign-up tells whether there is an account with an address: it is for few a day, of a network, or
 * of whoever has an invitation.
 * @throws ProblemError too_many_requests
 */
export async function limitSignUps(c: PageContext, invitationId?: string): Promise<void> {
  const { services } = c.var;
  if (!services.settings.rateLimits) return;
  await limitSignUpAttempts(services, invitationId ?? clientNetwork(c));
}
