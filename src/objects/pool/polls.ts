/**
 * A runner's long poll. It is held until there is a job, a newer poll replaces it, 30 s are over, or the
 * runner is gone.
 */

import { TOKEN_MS } from "../../domain/accounts/access.ts";
import type { Bindings } from "../../env.ts";
import { onAbort } from "../../lib/timeout.ts";
import { logger } from "../../log.ts";
import { runnerTokenKnownAt } from "../../storage/accounts/reader-access.ts";
import { database } from "../../storage/database.ts";
import { POLL_SECONDS, type PoolClaim } from "./rpc-types.ts";

interface PollOptions {
  /** Aborts when the runner disconnects. */
  signal: AbortSignal;
  /** Called once, when the poll is held no more. @param isGone its runner has disconnected */
  onEnd: (isGone: boolean) => void;
}

export class HeldPoll<Item> {
  /** The answer to the poll. */
  readonly items: Promise<Item[]>;
  #end: (isGone: boolean, items: Item[]) => void;

  constructor({ signal, onEnd }: PollOptions) {
    const { promise, resolve } = Promise.withResolvers<Item[]>();
    this.items = promise;
    const timer = setTimeout(() => this.answer([]), POLL_SECONDS * 1_000);
    this.#end = (isGone, items) => {
      this.#end = () => {};
      clearTimeout(timer);
      stopListening();
      onEnd(isGone);
      resolve(items);
    };
    let stopListening = () => {};
    stopListening = onAbort(signal, () => this.#end(true, []));
  }

  /** Answers the poll. Only the first answer counts. */
  answer(items: Item[]): void {
    this.#end(false, items);
  }
}

/** Ends a poll when the token that it came with is revoked. */

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
