/**
 * A runner's long poll. It is held until there is a job, a newer poll replaces it, 30 s are over, or the
 * runner is gone.
 */

import { TOKEN_MS } from "../../domain/accounts/access.ts";
import { formatLease, leaseProof } from "../../domain/predictions/lease.ts";
import { grantEnd, signGrant } from "../../domain/registry/grant.ts";
import type { Bindings, Settings } from "../../env.ts";
import { arrayText, objectText } from "../../lib/json-splice.ts";
import { onAbort } from "../../lib/timeout.ts";
import { logger } from "../../log.ts";
import type { WaitingJob } from "../../protocol/queue.ts";
import { modelOfRepository } from "../../protocol/registry.ts";
import type { Image } from "../../protocol/runner.ts";
import { runnerTokenKnownAt } from "../../storage/accounts/reader-access.ts";
import { database } from "../../storage/database.ts";
import { type OfferedJob, POLL_SECONDS, type PoolClaim } from "../stubs/pool.ts";

interface PollOptions {
  signal: AbortSignal;
  /** Called once, when the poll is held no more. @param isGone its runner has disconnected */
  onEnd: (isGone: boolean) => void;
}

export class HeldPoll<Item> {
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

/** The response to a runner's claim. */

/**
 * Returns a ClaimResponse as JSON text. Inputs are passed on verbatim.
 * @param options.log whether an operator asks for the runner's log
 * @param options.keep names of the runner's containers that claims hold
 */
export async function claimResponseText(
  handed: Handed[],
  { token_id, runner_id }: PoolClaim,
  settings: Settings,
  { log, keep }: { log: boolean; keep: readonly string[] },
): Promise<string> {
  const texts = handed.map(async ({ number, stop, start, offered }) => {
    const { job, lease: secretLease, input } = offered;
    const { objectId, secret } = secretLease;
    const proof = await leaseProof(secret, token_id, runner_id);
    const lease = formatLease({ attempt: job.attempt, objectId, runnerId: runner_id, proof });
    const image = await withGrant(job.image, token_id, settings);
    return objectText(
      { ...job, image, lease, handout: number, stop, ...(start && { start }) },
      input === undefined ? {} : { input },
    );
  });
  const rest = { ...(log && { log }), ...(keep.length > 0 && { keep }) };
  return objectText(rest, { jobs: arrayText(await Promise.all(texts)) });
}

/** Adds the grant, which is made here like the lease: for the token that the job is claimed with. */
async function withGrant(
  image: Image,
  token_id: string,
  { secretKeys, setupTimeoutSeconds }: Settings,
): Promise<Image> {
  const model_id = modelOfRepository(image.repository);
  if (model_id === undefined) return image;
  const expires_at = grantEnd(Date.now(), setupTimeoutSeconds);
  const grant = await signGrant(secretKeys, { model_id, token_id, expires_at });
  return grant === undefined ? image : { ...image, grant };
}

export interface Handed {
  /** The number of this hand-out among those of its runner's session. */
  number: number;
  /** Names of the idle containers that make room for it. */
  stop: string[];
  /** Whether the job needs a container of its own. */
  start: boolean;
  job: WaitingJob;
  /** Since when the job waits, unix ms. */
  since: number;
  offered: OfferedJob;
}
