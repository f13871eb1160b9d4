/** Runner tokens after their revocation, and while D1 fails. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { RunnerToken } from "../../../src/protocol/operator.ts";
import { claimResponse } from "../../../src/protocol/runner.ts";
import { forgetRunnerTokens } from "../../../src/services/access/authentication.ts";
import { pageAt } from "../support/catalogue.ts";
import { pause } from "../support/eventually.ts";
import { registered, revoke, revokeInDatabase } from "../support/fleet.ts";
import { timersFollowClock } from "../support/hold-timers.ts";
import { captureLog } from "../support/log.ts";
import { sessionBody } from "../support/runner.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { operator } from "../support/world.ts";

beforeEach(stopClock);
afterEach(() => {
  vi.restoreAllMocks();
  startClock();
});

/** Fails each statement that D1 is sent from now on. */
const d1Fails = () =>
  vi.spyOn(env.DB, "prepare").mockImplementation(() => {
    throw new Error("D1 is down");
  });

test("calls of a runner ask D1 about its token and its row once in ten seconds", async () => {
  const { runner } = await registered();
  forgetRunnerTokens();
  const asked = vi.spyOn(env.DB, "prepare");
  for (let n = 0; n < 3; n++) expect((await runner.tell()).status).toBe(200);
  expect(asked).toHaveBeenCalledTimes(2);
  advance(10.1);
  expect((await runner.tell()).status).toBe(200);
  expect(asked).toHaveBeenCalledTimes(4);
});

test("a cached runner token serves for 60 seconds while D1 fails", async () => {
  const { runner } = await registered();
  expect((await runner.tell()).status).toBe(200);
  captureLog("error");
  const broken = d1Fails();
  advance(59);
  expect((await runner.tell()).status).toBe(200);
  advance(1.1);
  expect((await runner.tell()).status).toBe(500);
  broken.mockRestore();
  expect((await runner.tell()).status).toBe(200);
});

test("a poll goes on while D1 fails", async () => {
  timersFollowClock();
  const { runner } = await registered();
  const polling = runner.poll();
  await pause(30);
  captureLog("warn");
  d1Fails();
  for (let n = 0; n < 5; n++) {
    advance(5);
    await pause(10);
  }
  vi.restoreAllMocks();
  advance(5);
  expect(claimResponse.parse(await (await polling).json())).toEqual({ jobs: [] });
});

test("a revoked runner token opens no session", async () => {
  const { runner, token, hardware } = await registered();
  await revokeInDatabase(token);
  const session = sessionBody(hardware, "x");
  const refused = await runner.client.json("POST", "/v1/runner/sessions", session);
  expect(refused.status).toBe(401);
});

test("an isolate that did not hear of a revocation refuses the token within ten seconds", async () => {
  const { runner, token } = await registered();
  expect((await runner.tell()).status).toBe(200);
  await revokeInDatabase(token);
  advance(10.1);
  expect((await runner.tell()).status).toBe(401);
});

test("an isolate that did not hear of a revocation ends the token's polls within ten seconds", async () => {
  timersFollowClock();
  const { runner, token } = await registered();
  const polling = runner.poll();
  await pause(30);
  await revokeInDatabase(token);
  advance(10.1);
  expect(claimResponse.parse(await (await polling).json())).toEqual({ jobs: [] });
});

test("a revocation succeeds while the objects of the token's runners fail", async () => {
  const { runner, token } = await registered();
  captureLog("warn");
  vi.spyOn(env.RUNNER, "getByName").mockImplementation(() => {
    throw new Error("the object is down");
  });
  await revoke(token);
  vi.restoreAllMocks();
  expect((await runner.tell()).status).toBe(401);
});

test("the last use of a runner's token is recorded while the runner only polls, every five minutes", async () => {
  timersFollowClock();
  const { runner, token } = await registered();
  const used = async () => {
    const tokens = await pageAt<RunnerToken>(operator, "/v1/operator/runner_tokens?page_size=50");
    const found = tokens.items.find(({ prefix }) => token.startsWith(prefix));
    return Date.parse(found?.last_used_at ?? "");
  };
  const marked = vi.spyOn(env.DB, "prepare");
  const began = Date.now();
  for (let n = 0; n < 25; n++) {
    const polling = runner.poll();
    await pause(5);
    advance(30.1);
    await (await polling).text();
  }
  const writes = marked.mock.calls.filter(([text]) => /^update "runner_tokens"/.test(text));
  expect(Date.now() - (await used())).toBeLessThan(331_000);
  expect(writes.length).toBeLessThanOrEqual((Date.now() - began) / 300_000 + 1);
});
