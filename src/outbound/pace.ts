/**
 * Limits how often one host is posted to by all users together, so that nobody can flood a third
 * party. Counted roughly, per Cloudflare location.
 */
import { type Bindings, settings } from "../env.ts";

/** The period of the limit, as in wrangler.toml. */
export const HOST_LIMIT_SECONDS = 10;

/** Counts a post. @returns whether the host may be posted to now */
export async function mayPost(env: Bindings, url: string): Promise<boolean> {
  if (!settings(env).rateLimits) return true;
  const { success } = await env.RATE_LIMIT_RECEIVER.limit({ key: new URL(url).hostname });
  return success;
}
