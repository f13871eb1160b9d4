/**
 * Whether a runner may still connect: for calls whose pass is too old, and for polls and channels, which
 * outlive the call that began them. Its object says so, which is told when its token is revoked
 * (services/runners/revocation.ts). D1 is asked only if the object does not answer: otherwise a runner
 * that keeps its object busy could outlive its token.
 */
import type { Bindings } from "../../env.ts";
import { logger } from "../../log.ts";
import { isRunnerToken } from "../../storage/accounts/tokens.ts";
import { cached } from "../../storage/cache.ts";
import { database } from "../../storage/database.ts";
import { runnerAt } from "./stub.ts";

/** A runner, and the token that it has shown. */
export interface RunnerIdentity {
  runner_id: string;
  token_id: string;
}

interface Question {
  env: Bindings;
  token_id: string;
}

const ANSWER_MS = 3_000;

/** Refusals are remembered as well, or a revoked runner could keep its object busy with old passes. */
const known = cached({ max: 10_000 }, async (question: Question, runnerId: string) => {
  const at = Date.now();
  return { at: (await mayConnect(question, runnerId)) ? at : undefined };
});

async function mayConnect({ env, token_id }: Question, runner_id: string): Promise<boolean> {
  try {
    return (await runnerAt(env, runner_id, ANSWER_MS).confirm()) !== null;
  } catch (error) {
    logger.warn("Runner not confirmed by its object", { runner_id, error });
    return isRunnerToken(database(env.DB), token_id);
  }
}

/** When it was last known that it may, unix ms: at most 10 s ago. Undefined if it may not. */
export async function accessKnownAt(
  env: Bindings,
  { runner_id, token_id }: RunnerIdentity,
): Promise<number | undefined> {
  return (await known.get({ env, token_id }, runner_id))?.at;
}

/** After a revocation, so that this isolate notices it at once. */
export const forgetRunnerAccess = known.forgetAll;
