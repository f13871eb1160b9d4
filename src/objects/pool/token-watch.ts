/** A poll lives no longer than the token that it came with. */
import { TOKEN_MS } from "../../domain/predictions/lease.ts";
import type { Bindings } from "../../env.ts";
import { logger } from "../../log.ts";
import { database } from "../../storage/database.ts";
import { runnerTokenKnownAt } from "../../storage/runners/runner-token-cache.ts";
import type { PoolClaim } from "./claim.ts";

/**
 * Looks at it 10 s after it was last found good, and again. While it cannot be looked up nobody's
 * poll is ended.
 * @returns ends the watch
 */
export function watchToken(
  env: Bindings,
  { runner_id, token_id, token_known_at }: PoolClaim,
  onRevoked: () => void,
): () => void {
  let over = false;
  const look = async () => {
    const knownAt = await runnerTokenKnownAt(database(env.DB), token_id).catch((error) => {
      logger.warn("Runner token lookup failed", { runner_id, error });
      return Date.now();
    });
    if (over) return;
    if (knownAt === undefined) onRevoked();
    else timer = plan(knownAt);
  };
  const plan = (knownAt: number) => setTimeout(look, knownAt + TOKEN_MS - Date.now());
  let timer = plan(token_known_at);
  return () => {
    over = true;
    clearTimeout(timer);
  };
}
