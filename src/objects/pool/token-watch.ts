/** Ends a poll when the token that it came with is revoked. */
import { TOKEN_MS } from "../../domain/runners/pass.ts";
import type { Bindings } from "../../env.ts";
import { logger } from "../../log.ts";
import { accessKnownAt } from "../runner/access.ts";
import type { PoolClaim } from "./rpc-types.ts";

/**
 * Asks every 10 s whether the runner may still connect. If nobody knows, the poll goes on.
 * @returns a function that stops it
 */
export function watchToken(
  env: Bindings,
  { runner_id, token_id, token_known_at }: PoolClaim,
  onRevoked: () => void,
): () => void {
  let stopped = false;
  const lookUp = async () => {
    const knownAt = await accessKnownAt(env, { runner_id, token_id }).catch((error) => {
      logger.warn("Runner's access not known", { runner_id, error });
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
