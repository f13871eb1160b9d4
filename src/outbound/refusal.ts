/** Whether a webhook may go to an address, as its name is served at this moment. */
import { hostOf, isLoopback, isPublic, notPublic, refusalOf } from "../domain/webhooks/address.ts";
import type { WebhookSettings } from "../env.ts";
import { resolve } from "./resolve.ts";

/**
 * Why not, for people; undefined when it may: it has addresses, and all are public. To be asked
 * before each try, since a name may lead elsewhere by then.
 * @throws Unresolved when it is not known
 */
export async function refusalNow(
  url: URL,
  { allowInsecure, resolver }: WebhookSettings,
  signal: AbortSignal,
): Promise<string | undefined> {
  const refusal = refusalOf(url, allowInsecure);
  if (refusal) return refusal;
  const host = hostOf(url);
  // Loopback has come this far only where it is allowed.
  if (isLoopback(host)) return undefined;
  const addresses = await resolve(host, resolver, signal);
  if (addresses.length === 0) return `${host} has no address: is it spelt right?`;
  return addresses.every(isPublic) ? undefined : notPublic(host);
}
