/** Revoking runner tokens. Their runners are removed a day later. */
import { notFound } from "../../errors/errors.ts";
import { mapAhead } from "../../lib/streams.ts";
import { logger } from "../../log.ts";
import { runnerAt } from "../../objects/stubs/runner.ts";
import { revokeRunnerToken as revoke } from "../../storage/accounts/tokens.ts";
import {
  deleteRevokedTokens,
  deleteRunner,
  listRunnerIds,
  listShutOutRunners,
} from "../../storage/runners/runners.ts";
import { forgetRunnerTokens } from "../access/authentication.ts";
import { auditEntry } from "../audit/record.ts";
import type { Services } from "../services.ts";
import { withTimeout } from "../with-timeout.ts";

/** Objects called at a time. */
const AT_ONCE = 50;
/** How long the runners of a revoked token are listed: they cannot come back. */
const LISTED_MS = 86_400_000;
/** Runners of one sweep, each with a call of its object. */
const REMOVED = 200;

/**
 * Revokes a token, which ends the polls and channels of its runners within 10 s. If a runner's object does
 * not answer, operators only lack a line in its history.
 * @param by the id of the operator's account; null: the operator's token
 * @throws ProblemError not_found
 */
export async function revokeRunnerToken(
  { env, db }: Services,
  id: string,
  by: string | null,
): Promise<void> {
  const at = Date.now();
  const runners = await listRunnerIds(db, id);
  const isRevoked = await revoke(db, id, at, ({ name }) =>
    auditEntry({
      action: "runner_token.revoked",
      account_id: null,
      targets: [{ type: "runner_token", id, name }],
    }),
  );
  if (!isRevoked) throw notFound(`The runner token '${id}'`);
  forgetRunnerTokens();
  const event = { at, kind: "token_revoked" as const, detail: "", by: by ?? undefined };
  const notify = (runner: string) =>
    withTimeout(runnerAt(env, runner).reportEvents([event]), `runner ${runner}`);
  for await (const _ of mapAhead(runners, AT_ONCE, (runner) => notify(runner.id)));
}

/** Forgets the runners of tokens that were revoked a day ago, and these tokens. */
export async function sweepRevokedRunners({ env, db }: Services, now: number): Promise<void> {
  const revokedBefore = now - LISTED_MS;
  const runners = await listShutOutRunners(db, revokedBefore, REMOVED);
  for await (const id of mapAhead(runners, AT_ONCE, ({ id }) => forget(env, id, now)))
    if (id !== undefined) await deleteRunner(db, id);
  await deleteRevokedTokens(db, revokedBefore);
}

/** Forgets a runner. If its object does not answer, the runner stays for a later sweep. */
async function forget(env: Services["env"], id: string, now: number): Promise<string | undefined> {
  try {
    await runnerAt(env, id).remove(now);
    return id;
  } catch (error) {
    logger.error("Runner of a revoked token not removed", { runner_id: id, error });
    return undefined;
  }
}
