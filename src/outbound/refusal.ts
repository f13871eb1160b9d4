/** Checks whether a webhook may go to a URL, by the addresses that its host resolves to now. */
import { hostOf, isLoopback, isPublic, notPublic, urlRefusal } from "../domain/webhooks/address.ts";
import type { WebhookSettings } from "../env.ts";
import { resolve } from "./resolve.ts";

/**
 * Checks a URL before each try, since a name may resolve to other addresses by then.
 * @returns why it is refused, for users; undefined when all its addresses are public
 * @throws ResolutionFailed
 */
export async function checkResolvedUrl(
  url: URL,
  { allowInsecure, resolver }: WebhookSettings,
  signal: AbortSignal,
): Promise<string | undefined> {
  const refusal = urlRefusal(url, allowInsecure);
  if (refusal) return refusal;
  const host = hostOf(url);
  // urlRefusal accepts loopback only where it is allowed.
  if (isLoopback(host)) return undefined;
  const addresses = await resolve(host, resolver, signal);
  if (addresses.length === 0) return `${host} does not resolve to an address: check its spelling`;
  return addresses.every(isPublic) ? undefined : notPublic(host);
}
