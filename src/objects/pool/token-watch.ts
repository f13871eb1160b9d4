/** Ends a poll when the token that it came with is revoked. */
import { TOKEN_MS } from "../../domain/accounts/access-checks.ts";
import type { Bindings } from "../../env.ts";
import { logger } from "../../log.ts";
import { runnerTokenKnownAt } from "../../storage/accounts/reader-access.ts";
import { database } from "../../storage/database.ts";
import type { PoolClaim } from "./rpc-types.ts";

/**
 * Asks D1 every 10 s whether the token is valid. The poll goes on while D1 does not answer.
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
      logger.warn("Runner token not checked", { runner_id, error });
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
