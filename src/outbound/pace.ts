/**
 * How often one host is posted to, by all accounts together: many of them, or one with many
 * predictions, are not to flood a third party. Counted per Cloudflare location, and roughly.
 */
import { type Bindings, settings } from "../env.ts";

/** After which there is room again, as wrangler.toml has it. */
export const PACE_SECONDS = 10;

/** Counts a post. @returns whether the host may be posted to now */
export async function mayPost(env: Bindings, url: string): Promise<boolean> {
  if (!settings(env).rateLimits) return true;
  const { success } = await env.RATE_LIMIT_RECEIVER.limit({ key: new URL(url).hostname });
  return success;
}
