/** Routes for runners: their access, sessions and drains. */
import { abortAllDurableObjects } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { RunnerState } from "../../../src/protocol/fleet.ts";
import { readManifest } from "../../../src/services/assets.ts";
import { Client, ORIGIN } from "../support/client.ts";
import { registered, revoke, shown } from "../support/fleet.ts";
import { FakeRunner, sessionBody } from "../support/runner.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newRunnerToken, newUser, newWorld, operator } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

const drain = (id: string, verb: "drain" | "resume" = "drain") =>
  operator.json<RunnerState>("POST", `/v1/operator/runners/${id}/${verb}`);

describe("access to runner routes", () => {
  const paths: [string, string][] = [
    ["GET", "/v1/runner/hardware/cpu"],
    ["POST", "/v1/runner/sessions"],
    ["POST", "/v1/runner/jobs/claim"],
    ["POST", "/v1/runner/telemetry"],
    ["GET", "/v1/runner/channel"],
    ["GET", "/v1/runner/input"],
  ];

  test.each(paths)("%s %s is refused without a runner token", async (method, path) => {
    const { client } = await newUser();
    const other = await newRunnerToken("cpu");
    const wrong = other.slice(0, -1) + (other.endsWith("0") ? "1" : "0");
    for (const token of [undefined, "ausr_x", wrong, client.token, env.OPERATOR_TOKEN]) {
      expect((await new Client(token).fetch(path, { method })).status).toBe(401);
    }
  });

  test("a revoked runner token is refused within 10 s", async () => {
    const { runner, token } = await registered();
    expect((await runner.tell()).status).toBe(200);
    await revoke(token);
    advance(10.1);
    expect((await runner.tell()).status).toBe(401);
  });

  test("a runner is refused by a pool that its token does not serve, and no job is lost", async () => {
    const world = await newWorld();
    const id = await world.waiting();
    const { runner } = await registered();
    const claim = await runner.poll({ pool: world.hardware });
    expect(claim.status).toBe(403);
    expect(await claim.json()).toMatchObject({
      type: "urn:auspex:forbidden",
      detail: `This runner's session is for the pool '${runner.pool}', not for '${world.hardware}'.`,
    });
    const session = await runner.client.refused(
      "/v1/runner/sessions",
      sessionBody(world.hardware, "x"),
    );
    expect(session.status).toBe(403);
    expect((await (await world.runner()).take()).prediction_id).toBe(id);
  });

  test("a runner can read the hardware of its token, and no other", async () => {
    const { token, hardware } = await registered();
    const client = new Client(token);
    const other = (await registered()).hardware;
    const { body } = await client.json("GET", `/v1/runner/hardware/${hardware}`);
    expect(body).toMatchObject({ identifier: hardware, gpus: 0 });
    const refused = await client.fetch(`/v1/runner/hardware/${other}`);
    expect(refused.status).toBe(403);
    expect(await refused.json()).toMatchObject({
      detail: `This runner token is for ${hardware}, not for '${other}'.`,
    });
    await operator.ok("DELETE", `/v1/operator/hardware/${hardware}`);
    expect((await client.fetch(`/v1/runner/hardware/${hardware}`)).status).toBe(404);
  });

  test("a runner id of another token is a 404", async () => {
    const [mine, theirs] = [await registered(), await registered()];
    expect((await mine.runner.poll({ runner_id: theirs.runner.id })).status).toBe(404);
    expect((await mine.runner.tell({ runner_id: theirs.runner.id })).status).toBe(404);
    expect((await mine.runner.poll({ runner_id: crypto.randomUUID() })).status).toBe(404);
  });

  test("a session of another protocol version is refused, with the command for a fitting runner", async () => {
    const { runner, hardware } = await registered();
    const { hardware: _, ...rest } = sessionBody(hardware, "x");
    const body = { ...rest, protocol: 1 };
    const { status, body: problem } = await runner.client.refused("/v1/runner/sessions", body);
    expect(status).toBe(426);
    expect(problem).toMatchObject({
      type: "urn:auspex:outdated_runner",
      detail: expect.stringContaining(
        `npx --yes "${ORIGIN}/auspex-runner.tgz?v=${(await readManifest(env)).runner.version}"`,
      ),
    });
  });
});

describe("an invalid body", () => {
  test.each([
    ["/v1/runner/sessions", {}],
    ["/v1/runner/sessions", "{"],
    ["/v1/runner/jobs/claim", { free: 0 }],
    ["/v1/runner/jobs/claim", "null"],
    ["/v1/runner/telemetry", { state: "asleep" }],
  ])("a request to %s with %j is a 422", async (path, body) => {
    const { runner } = await registered();
    const answer = await runner.client.refused(path, body);
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toContainEqual(
      expect.objectContaining({ msg: expect.stringMatching(/./) }),
    );
  });
});

describe("a session", () => {
  test("a session of the same name and token is the same runner", async () => {
    const { runner, token, hardware, name } = await registered();
    const again = await FakeRunner.begin(token, hardware, name);
    expect(again.id).toBe(runner.id);
    expect(again.session > runner.session).toBe(true);
    const other = await FakeRunner.begin(await newRunnerToken(hardware), hardware, name);
    expect(other.id).not.toBe(runner.id);
  });

  test("a session belongs to its process, also if registrations repeat or arrive late", async () => {
    const { token, hardware, name } = await registered();
    const begin = (process: string) => FakeRunner.begin(token, hardware, name, 1, { process });
    const process = crypto.randomUUID();
    const runner = await begin(process);
    expect((await begin(process)).session).toBe(runner.session);
    expect((await runner.tell()).status).toBe(200);
    const next = await begin(crypto.randomUUID());
    expect(next.session > runner.session).toBe(true);
    expect((await runner.tell()).status).toBe(409);
    await expect(begin(process)).rejects.toThrow("session_superseded");
    expect((await next.tell()).status).toBe(200);
  });

  test("a session that was superseded gets a 409", async () => {
    const { runner, token, hardware, name } = await registered();
    await FakeRunner.begin(token, hardware, name);
    const { status, body } = await runner.tell();
    expect(status).toBe(409);
    expect(body).toMatchObject({ type: "urn:auspex:session_superseded" });
  });
});

describe("a token with a thousand runners", () => {
  const fill = (id: string) =>
    env.DB.prepare(
      `INSERT INTO runners (id, token_id, name, hardware, pool, created_at, updated_at)
       WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 998)
       SELECT token_id || i, token_id, 'full ' || i, hardware, pool, 0, 0 FROM runners, n WHERE id = ?`,
    )
      .bind(id)
      .run();

  test("a token with a thousand runners is refused another, while existing ones can begin", async () => {
    const { runner, token, hardware, name } = await registered();
    await fill(runner.id);
    const begin = (of: string) =>
      runner.client.refused("/v1/runner/sessions", sessionBody(hardware, of));
    const answers = await Promise.all(["a", "b", "c"].map(begin));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409, 409]);
    expect(answers.find(({ status }) => status === 409)?.body).toMatchObject({
      type: "urn:auspex:conflict",
      detail: expect.stringContaining("remove unused ones"),
    });
    expect((await FakeRunner.begin(token, hardware, name)).id).toBe(runner.id);
    const other = await newRunnerToken(hardware);
    await FakeRunner.begin(other, hardware, name);
  });

  test("a token with a thousand runners can have another after one is removed", async () => {
    const { runner, token, hardware } = await registered();
    await fill(runner.id);
    await FakeRunner.begin(token, hardware, "last");
    await expect(FakeRunner.begin(token, hardware, "new")).rejects.toThrow("409");
    advance(91);
    await operator.ok("DELETE", `/v1/operator/runners/${runner.id}`);
    await FakeRunner.begin(token, hardware, "new");
  });
});

describe("a drain", () => {
  test("a drain reaches the runner with its next report, until a resume", async () => {
    const { runner } = await registered();
    expect((await runner.tell()).body).toEqual({ draining: false });
    expect((await drain(runner.id)).body).toMatchObject({ id: runner.id, draining: true });
    expect((await runner.tell()).body).toEqual({ draining: true });
    expect((await drain(runner.id, "resume")).body).toMatchObject({ draining: false });
    expect((await runner.tell()).body).toEqual({ draining: false });
  });

  test("a drain outlasts a restart of the object and of the runner's process", async () => {
    const { runner, token, hardware, name } = await registered();
    await drain(runner.id);
    await abortAllDurableObjects();
    expect((await runner.tell()).body).toEqual({ draining: true });
    const again = await FakeRunner.begin(token, hardware, name);
    expect((await again.tell()).body).toEqual({ draining: true });
  });

  test("a drain of an unknown runner is a 404", async () => {
    expect((await drain(crypto.randomUUID())).status).toBe(404);
  });
});

test("a client's address never reaches the runner object's router", async () => {
  const { runner } = await registered();
  await drain(runner.id);
  for (const path of [
    "/do/call/destroy",
    "/do/get-prop/presence",
    "/v1/do/call/destroy",
    `/v1/operator/runners/${runner.id}/do/call/destroy`,
  ]) {
    const response = await exports.default.fetch(`${ORIGIN}${path}`, {
      headers: { authorization: `Bearer ${env.OPERATOR_TOKEN}`, "do-content": "[]" },
    });
    expect(response.status).toBe(404);
  }
  for (const path of ["/v1/runner/do/call/destroy", "/v1/runner/telemetry/do/call/destroy"]) {
    const { status } = await runner.client.json("GET", path, undefined, { "do-content": "[]" });
    expect(status).toBe(404);
  }
  const sneaky = await runner.client.json(
    "POST",
    "/v1/runner/telemetry",
    {},
    { "do-content": '["x"]', "do-name": "destroy" },
  );
  expect(sneaky.status).toBe(422);
  expect(await shown(runner.id)).toMatchObject({ draining: true });
});
