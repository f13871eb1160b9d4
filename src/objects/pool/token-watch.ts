/** Ends a poll when the token that it came with is revoked. */
import { TOKEN_MS } from "../../domain/predictions/lease.ts";
import type { Bindings } from "../../env.ts";
import { logger } from "../../log.ts";
import { database } from "../../storage/database.ts";
import { runnerTokenKnownAt } from "../../storage/runners/runner-token-cache.ts";
import type { PoolClaim } from "./rpc-types.ts";

/**
 * Looks the token up every 10 s. If that fails the poll goes on.
 * @returns a function that stops it
 */
export function watchToken(
  env: Bindings,
  { runner_id, token_id, token_known_at }: PoolClaim,
  onRevoked: () => void,
): () => void {
  let stopped = false;
  const lookUp = async () => {
    const knownAt = await runnerTokenKnownAt(database(env.DB), token_id).catch((error) => {
      logger.warn("Runner token lookup failed", { runner_id, error });
      return Date.now();
    });
    if (stopped) return;
    if (knownAt === undefined) onRevoked();
    else timer = schedule(knownAt);
  };
  const schedule = (knownAt: number) => setTimeout(lookUp, knownAt + TOKEN_MS - Date.now());
  let timer = schedule(token_known_at);
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}
