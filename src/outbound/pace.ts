/**
 * Limits the posts to one host: of all users together, so that nobody can flood a third party, and of each
 * account, so that it does not use up the limit of all. The counts are approximate, per Cloudflare location.
 */
import { type Bindings, settings } from "../env.ts";

/** The period of the limit, as in wrangler.toml. */
export const HOST_LIMIT_SECONDS = 10;

/** Counts a post for an account. @returns whether it may post to the host now */
export async function mayPost(env: Bindings, userId: string, url: string): Promise<boolean> {
  if (!settings(env).rateLimits) return true;
  const host = new URL(url).hostname;
  // Posts beyond an account's own share do not count against the host's limit.
  const own = await env.RATE_LIMIT_RECEIVER_SHARE.limit({ key: `${userId} ${host}` });
  return own.success && (await env.RATE_LIMIT_RECEIVER.limit({ key: host })).success;
}
