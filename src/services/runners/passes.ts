/** Runners that prove their calls by a pass (domain/runners/pass.ts), for which D1 is not asked. */
import { sha256 } from "../../domain/accounts/token.ts";
import { isFresh, type Pass, signPass, verifyPass } from "../../domain/runners/pass.ts";
import { logger } from "../../log.ts";
import { accessKnownAt } from "../../objects/runner/access.ts";
import { markRunnerTokenUsed } from "../../storage/accounts/tokens.ts";
import type { TokenCheck } from "../accounts/authentication.ts";
import type { RunnerCaller } from "../accounts/caller.ts";
import type { Services } from "../services.ts";

/** How far the recorded last use of a token may lag behind: more often would cost D1 a write each. */
const LAST_USE_MS = 3_600_000;

interface Shown {
  token: string;
  pass: string;
}

/**
 * Who shows a token with a pass that is bound to it. One that is too old is renewed, if the runner's object
 * confirms that the runner may still connect.
 * @returns also the new pass, if there is one; undefined when D1 has to be asked about the token
 */
export async function callerByPass(
  services: Services,
  shown: Shown,
  runInBackground: TokenCheck["runInBackground"],
): Promise<{ caller: RunnerCaller; pass?: string | undefined } | undefined> {
  const tokenHash = await sha256(shown.token);
  const pass = await verifyPass(services.settings.secretKeys, shown.pass, tokenHash);
  if (!pass) return undefined;
  if (isFresh(pass, Date.now())) return { caller: callerOf(pass, tokenHash) };
  const renewed = await renew(services, pass);
  if (!renewed) return undefined;
  const [now, before] = [renewed.known_at, renewed.known_at - LAST_USE_MS];
  if (Math.floor(now / LAST_USE_MS) !== Math.floor(pass.known_at / LAST_USE_MS))
    runInBackground(() => markRunnerTokenUsed(services.db, pass.token_id, now, before));
  return {
    caller: callerOf(renewed, tokenHash),
    pass: await signPass(services.settings.secretKeys, renewed, tokenHash),
  };
}

async function renew({ env }: Services, pass: Pass): Promise<Pass | undefined> {
  try {
    const known_at = await accessKnownAt(env, pass);
    return known_at === undefined ? undefined : { ...pass, known_at };
  } catch (error) {
    logger.warn("Runner's pass not renewed", { runner_id: pass.runner_id, error });
    return undefined;
  }
}

const callerOf = (
  { token_id, known_at, runner_id, pool }: Pass,
  token_hash: string,
): RunnerCaller => ({
  token_id,
  token_hash,
  // The clock that signed it may be ahead of this one.
  token_known_at: Math.min(known_at, Date.now()),
  runner_id,
  pool,
  hardware: [],
});
