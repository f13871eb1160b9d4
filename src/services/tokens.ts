/** Who is calling: access tokens, runner tokens, the operator's. */

import { v7 as uuid } from "uuid";
import { isToken, newToken, sameText, sha256, tokenPrefix } from "../domain/secret.ts";
import { invalid, ValidationFailure } from "../domain/validation.ts";
import { notFound, ProblemError } from "../errors.ts";
import type { RunnerToken, Scope, Token } from "../protocol/operator.ts";
import { remembered } from "../storage/cache.ts";
import {
  findRunnerToken,
  findToken,
  insertRunnerToken,
  insertToken,
  revokeToken as revoke,
  revokeRunnerToken as revokeRunner,
  listRunnerTokens as runnerTokensOf,
  listTokens as tokensOf,
} from "../storage/tokens.ts";
import { unknownHardware } from "./hardware.ts";
import { type Page, type PageRequest, page } from "./pages.ts";
import type { Services } from "./services.ts";

export interface Caller {
  token_id: string;
  user_id: string;
  scopes: Scope[];
}

export interface RunnerCaller {
  token_id: string;
  /** The hardware whose pools it may serve. */
  hardware: string[];
}

/** By the token itself: checksum and hash are only worked out when it is looked up. */
const access = remembered({ max: 10_000 }, async ({ db }: Services, token: string) =>
  isToken(token, "aus") ? findToken(db, await sha256(token)) : undefined,
);
const runner = remembered({ max: 10_000 }, async ({ db }: Services, token: string) =>
  isToken(token, "ausr") ? findRunnerToken(db, await sha256(token)) : undefined,
);

const denied = () =>
  new ProblemError("unauthenticated", "The access token is unknown, expired or revoked.");

/** @throws ProblemError unauthenticated */
export async function authenticate(services: Services, token: string): Promise<Caller> {
  const found = await access.get(services, token);
  if (!found || (found.expires_at !== null && found.expires_at <= Date.now())) throw denied();
  return {
    token_id: found.id,
    user_id: found.user_id,
    scopes: found.scopes,
  };
}

/** @throws ProblemError unauthenticated */
export async function authenticateRunner(services: Services, token: string): Promise<RunnerCaller> {
  const found = await runner.get(services, token);
  if (!found) throw new ProblemError("unauthenticated", "The runner token is unknown or revoked.");
  return { token_id: found.id, hardware: found.hardware };
}

/** @throws ProblemError unauthenticated */
export function authenticateOperator({ settings }: Services, token: string): void {
  if (!settings.operatorToken) {
    throw new ProblemError(
      "unauthenticated",
      "This deployment has no operator token yet: wrangler secret put OPERATOR_TOKEN",
    );
  }
  if (!sameText(token, settings.operatorToken)) {
    throw new ProblemError("unauthenticated", "The operator token is wrong.");
  }
}

/** The answer is the only place where the token is ever shown. @throws ValidationFailure */
export async function createToken(
  { db }: Services,
  userId: string,
  request: { name: string; scopes: Scope[]; expires_at: number | null },
): Promise<{ id: string; token: string }> {
  if (request.expires_at !== null && request.expires_at <= Date.now())
    throw invalid(["body", "expires_at"], "it is in the past");
  const token = newToken("aus");
  const id = uuid();
  await insertToken(db, {
    ...request,
    id,
    user_id: userId,
    hash: await sha256(token),
    prefix: tokenPrefix(token),
    created_at: Date.now(),
  });
  return { id, token };
}

/** The answer is the only place where the token is ever shown. @throws ValidationFailure */
export async function createRunnerToken(
  services: Services,
  request: { name: string; hardware: string[] },
): Promise<{ id: string; token: string }> {
  const issues = await unknownHardware(services, request.hardware, (n) => [
    "body",
    "hardware",
    String(n),
  ]);
  if (issues.length > 0) throw new ValidationFailure(issues);
  const token = newToken("ausr");
  const id = uuid();
  await insertRunnerToken(services.db, {
    ...request,
    id,
    hash: await sha256(token),
    prefix: tokenPrefix(token),
    created_at: Date.now(),
  });
  return { id, token };
}

/** A user's tokens that are not revoked, newest first. */
export const listTokens = (
  services: Services,
  userId: string,
  request: PageRequest,
): Promise<Page<Token>> =>
  page(services, request, {
    name: `tokens/${userId}`,
    find: (keyset) => tokensOf(services.db, userId, keyset),
    keyOf: ({ id }) => [id],
    present: services.present.token,
  });

export const listRunnerTokens = (
  services: Services,
  request: PageRequest,
): Promise<Page<RunnerToken>> =>
  page(services, request, {
    name: "runner_tokens",
    find: (keyset) => runnerTokensOf(services.db, keyset),
    keyOf: ({ id }) => [id],
    present: services.present.runnerToken,
  });

/** Dead everywhere within the time that isolates remember, 10 s. @throws ProblemError not_found */
export async function revokeToken({ db }: Services, id: string): Promise<void> {
  if (!(await revoke(db, id, Date.now()))) throw notFound(`The token '${id}'`);
}

/** As of a user's token. @throws ProblemError not_found */
export async function revokeRunnerToken({ db }: Services, id: string): Promise<void> {
  if (!(await revokeRunner(db, id, Date.now()))) throw notFound(`The runner token '${id}'`);
}
