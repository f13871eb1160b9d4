/** What a runner proves its calls with, beside its token (src/domain/runners/pass.ts). */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { RunnerObject } from "../../../src/objects/runner/object.ts";
import { runnerAt } from "../../../src/objects/runner/stub.ts";
import { PASS_HEADER } from "../../../src/protocol/runner.ts";
import { forgetRunnerTokens } from "../../../src/services/accounts/authentication.ts";
import { eventually } from "../support/eventually.ts";
import { registered, revoke, revokeInDatabase } from "../support/fleet.ts";
import { sweep } from "../support/queues.ts";
import { type FakeRunner, sessionBody } from "../support/runner.ts";
import { advance, startClock, stopClock } from "../support/time.ts";

// A token's last use is written once in a clock hour: 10 s later must be the same one.
beforeEach(() => {
  stopClock();
  vi.setSystemTime(Math.ceil(Date.now() / HOUR_MS) * HOUR_MS);
});
afterEach(() => {
  vi.restoreAllMocks();
  startClock();
});

const HOUR_MS = 3_600_000;

const passOf = ({ client }: FakeRunner): string => {
  if (client.pass === undefined) throw new Error("it was given no pass");
  return client.pass;
};

/** The statements that D1 is asked from now on. */
const statements = () => {
  const spy = vi.spyOn(env.DB, "prepare");
  return () => spy.mock.calls.map(([sql]) => sql).filter((sql) => sql.includes("runner"));
};

const objectsFail = (method: "confirm" | "revoke") =>
  vi.spyOn(RunnerObject.prototype, method).mockImplementation(() => {
    throw new Error("the object is down");
  });

describe("a runner's pass", () => {
  test("is given with the session, and renewed by the first call after 10 s", async () => {
    const { runner } = await registered();
    const first = passOf(runner);
    const asked = statements();
    advance(9);
    expect((await runner.tell()).headers.get(PASS_HEADER)).toBeNull();
    advance(1.1);
    expect((await runner.tell()).headers.get(PASS_HEADER)).not.toBeNull();
    expect(passOf(runner)).not.toBe(first);
    expect(asked()).toEqual([]);
  });

  test("is renewed however old it is", async () => {
    const { runner } = await registered();
    const asked = statements();
    advance(86_400);
    expect((await runner.tell()).status).toBe(200);
    // The token's last use.
    expect(asked()).toHaveLength(1);
    expect(asked()[0]).toMatch(/^update "runner_tokens"/);
  });

  test("is no use to another token, neither fresh nor old", async () => {
    const [victim, thief] = [(await registered()).runner, (await registered()).runner];
    for (const seconds of [0, 11]) {
      advance(seconds);
      thief.client.pass = passOf(victim);
      const told = await thief.tell({ runner_id: victim.id, session: victim.session });
      expect(told.status).toBe(404);
      expect(thief.client.pass).toBe(passOf(victim));
    }
  });

  test("does nothing without its token", async () => {
    const { runner } = await registered();
    const headers = { [PASS_HEADER]: passOf(runner), authorization: "Bearer ausr_x" };
    const response = await runner.client.post("/v1/runner/jobs/claim", {}, headers);
    expect(response.status).toBe(401);
  });

  test("that was altered is as none: the token is looked up", async () => {
    const { runner } = await registered();
    const other = (await registered()).runner.pool;
    runner.client.pass = passOf(runner).replace(runner.pool, other);
    const asked = statements();
    expect((await runner.poll({ pool: other })).status).toBe(403);
    expect((await runner.tell()).status).toBe(200);
    expect(asked().length).toBeGreaterThan(0);
  });
});

describe("a token that is revoked", () => {
  test("opens no session", async () => {
    const { runner, token, hardware } = await registered();
    await revokeInDatabase(token);
    const refused = await runner.client.json(
      "POST",
      "/v1/runner/sessions",
      sessionBody(hardware, "x"),
    );
    expect(refused.status).toBe(401);
  });

  test("is refused after 10 s, also by an isolate that has heard nothing of it", async () => {
    const { runner, token } = await registered();
    const pass = passOf(runner);
    await revoke(token);
    advance(10.1);
    for (let n = 0; n < 2; n++) {
      runner.client.pass = pass;
      expect((await runner.tell()).status).toBe(401);
    }
  });

  test("is refused while the objects of its runners do not answer", async () => {
    const { runner, token } = await registered();
    const [told, asked] = [objectsFail("revoke"), objectsFail("confirm")];
    await revoke(token);
    advance(10.1);
    expect((await runner.tell()).status).toBe(401);
    expect(told).toHaveBeenCalled();
    expect(asked).toHaveBeenCalled();
  });

  test("is told to the objects that did not answer within a minute of their answering", async () => {
    const { runner, token } = await registered();
    objectsFail("revoke");
    await revoke(token);
    vi.restoreAllMocks();
    await sweep();
    advance(10.1);
    const asked = statements();
    forgetRunnerTokens();
    expect((await runner.tell()).status).toBe(401);
    // Its object refuses it, and then D1 does.
    expect(asked()).toHaveLength(1);
  });

  test("is told although runners of five others never answer", async () => {
    const { revoke: told } = RunnerObject.prototype;
    vi.spyOn(RunnerObject.prototype, "revoke").mockImplementation(function (this: RunnerObject) {
      if (this.presence?.name !== "reachable") throw new Error("the object is down");
      return told.call(this);
    });
    for (let n = 0; n < 5; n++) await revokeInDatabase((await registered()).token);
    const { runner, token } = await registered("reachable");
    await revokeInDatabase(token);
    await eventually(async () => {
      await sweep();
      expect(await runnerAt(env, runner.id).confirm()).toBeNull();
    }, 10_000);
    vi.restoreAllMocks();
    await sweep();
  });

  test("by hand, in D1, is refused from the next minute on", async () => {
    const { runner, token } = await registered();
    await revokeInDatabase(token);
    await sweep();
    advance(10.1);
    expect((await runner.tell()).status).toBe(401);
  });

  test("is told once", async () => {
    const { token } = await registered();
    await revoke(token);
    const told = vi.spyOn(RunnerObject.prototype, "revoke");
    await sweep();
    expect(told).not.toHaveBeenCalled();
  });
});

test("a runner whose object does not answer goes on, as D1 says", async () => {
  const { runner } = await registered();
  objectsFail("confirm");
  advance(10.1);
  const asked = statements();
  expect((await runner.tell()).status).toBe(200);
  expect(asked()).toEqual([expect.stringMatching(/^select "id" from "runner_tokens"/)]);
});
