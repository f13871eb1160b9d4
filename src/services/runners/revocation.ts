/**
 * Revoking runner tokens. D1 refuses the token at once. The objects of its runners, which confirm the
 * runners' passes, are told then, and told again every minute until all of them have answered. A day later
 * they are removed.
 */
import { notFound } from "../../errors.ts";
import { mapAhead } from "../../lib/map-ahead.ts";
import { retry } from "../../lib/retry.ts";
import { TimedOut } from "../../lib/timeout.ts";
import { logger } from "../../log.ts";
import { runnerAt } from "../../objects/runner/stub.ts";
import {
  listUntoldTokens,
  markTokenTold,
  revokeRunnerToken as revoke,
} from "../../storage/accounts/tokens.ts";
import {
  deleteRevokedTokens,
  deleteRunner,
  listRunnerIds,
  listShutOutRunners,
} from "../../storage/runners/runners.ts";
import { forgetRunnerTokens } from "../accounts/authentication.ts";
import { forgetGrantedTokens } from "../registry/pull-grants.ts";
import type { Services } from "../services.ts";

/** Objects told at a time. */
const AT_ONCE = 50;
const RETRY = { attempts: 3, baseMs: 100, maxMs: 1_000 };
/** Tokens of one sweep. Each may have a thousand runners, and an invocation 10,000 calls. */
const SWEPT = 5;
/** How long the runners of a revoked token are listed: they cannot come back. */
const LISTED_MS = 86_400_000;
/** Runners of one sweep, each with a call of its object. */
const REMOVED = 200;

/**
 * Ends the runners' polls and channels within 10 s. If the object of one does not answer, it is told
 * within a minute that it does.
 * @param by the id of the operator's account; null: the operator's token
 * @throws ProblemError not_found
 */
export async function revokeRunnerToken(
  services: Services,
  id: string,
  by: string | null,
): Promise<void> {
  const now = Date.now();
  if (!(await revoke(services.db, id, now))) throw notFound(`The runner token '${id}'`);
  forgetRunnerTokens();
  forgetGrantedTokens();
  // It is revoked, whatever becomes of this: the sweep goes on with it.
  await tellRunners(services, id, now, by).catch((error) =>
    logger.error("Runners not told that their token is revoked", { token_id: id, error }),
  );
}

/** Also of tokens that were revoked by hand, in D1. */
export async function sweepRevokedTokens(services: Services, now: number): Promise<void> {
  for (const { id } of await listUntoldTokens(services.db, SWEPT))
    await tellRunners(services, id, now, null);
}

/** Forgets the runners of tokens that were revoked a day ago, and these tokens. */
export async function sweepRevokedRunners({ env, db }: Services, now: number): Promise<void> {
  const toldBefore = now - LISTED_MS;
  const runners = await listShutOutRunners(db, toldBefore, REMOVED);
  for await (const id of mapAhead(runners, AT_ONCE, ({ id }) => forget(env, id, now)))
    if (id !== undefined) await deleteRunner(db, id);
  await deleteRevokedTokens(db, toldBefore);
}

/** One whose object does not answer stays for a later sweep. */
async function forget(env: Services["env"], id: string, now: number): Promise<string | undefined> {
  try {
    await runnerAt(env, id).remove(now);
    return id;
  } catch (error) {
    logger.error("Runner of a revoked token not removed", { runner_id: id, error });
    return undefined;
  }
}

async function tellRunners(
  { env, db }: Services,
  tokenId: string,
  now: number,
  by: string | null,
): Promise<void> {
  const runners = await listRunnerIds(db, tokenId);
  let untold = 0;
  for await (const told of mapAhead(runners, AT_ONCE, ({ id }) => tell(env, id, by)))
    if (!told) untold++;
  if (untold === 0) await markTokenTold(db, tokenId, now);
}

async function tell(env: Services["env"], runner_id: string, by: string | null): Promise<boolean> {
  try {
    await retry(() => runnerAt(env, runner_id).revoke(by), {
      ...RETRY,
      signal: new AbortController().signal,
      isRetryable: (error) => !(error instanceof TimedOut),
    });
    return true;
  } catch (error) {
    logger.error("Runner not told that its token is revoked", { runner_id, error });
    return false;
  }
}
