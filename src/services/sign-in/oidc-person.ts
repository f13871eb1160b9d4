/** The person that the OpenID Connect provider vouches for in a callback, and what it says of them. */
/// <reference types="node/async_hooks" />
import { AsyncLocalStorage } from "node:async_hooks";
import type { OidcSettings } from "../../env-oidc.ts";
import { logger } from "../../log.ts";
import { groupsClaim, type OidcClaims } from "../../protocol/oidc.ts";
import type { Identity } from "../../storage/schema/sign-in.ts";

/** An identity is an issuer and its subject. An issuer has no spaces. */
export const accountIdOf = ({ issuer }: OidcSettings, subject: string) => `${issuer} ${subject}`;

interface Person {
  accountId: string;
  identity: Identity;
}

/** The person whose callback is being answered. */
const callback = new AsyncLocalStorage<{ person?: Person }>();

/** Answers a callback. @returns the person that the provider vouches for in it, whether or not they may log in */
export async function withPerson(
  answer: () => Promise<Response>,
): Promise<{ response: Response; person?: Person }> {
  const current: { person?: Person } = {};
  const response = await callback.run(current, answer);
  return { ...current, response };
}

/** @param claims verified */
export function rememberPerson(settings: OidcSettings, claims: OidcClaims): void {
  const current = callback.getStore();
  if (!current) return;
  const { sub, preferred_username, email = "" } = claims;
  const identity = {
    groups: groupsIn(settings, claims),
    username: usernameOf(preferred_username ?? email),
    at: Date.now(),
  };
  current.person = { accountId: accountIdOf(settings, sub), identity };
}

function groupsIn({ groups, groupsClaim: name }: OidcSettings, claims: OidcClaims): string[] {
  const { _claim_names: elsewhere } = claims;
  if (groups.size > 0 && typeof elsewhere === "object" && elsewhere !== null && name in elsewhere) {
    logger.warn(
      "The OpenID Connect provider sent no groups, because a person is in too many. Their memberships from groups end. Let it send only the groups of OIDC_GROUPS",
      { subject: claims.sub, claim: name },
    );
  }
  return groupsClaim.safeParse(claims[name]).data ?? [];
}

const usernameOf = (text: string): string =>
  text
    .replace(/@.*/, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "")
    .slice(0, 63);
