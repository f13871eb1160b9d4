/** A token's last use, recorded within 5 minutes and without a delay of requests. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { RunnerToken, Token } from "../../../src/protocol/operator.ts";
import { pageAt } from "../support/catalogue.ts";
import type { Client } from "../support/client.ts";
import { eventually, pause } from "../support/eventually.ts";
import { captureLog } from "../support/log.ts";
import { FakeRunner } from "../support/runner.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newClient, newRunnerToken, newUser, operator, unique } from "../support/world.ts";

beforeEach(stopClock);
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

const now = () => new Date().toISOString();
const use = (client: Client) => client.ok("GET", "/v1/user");

const newestOf = async (username: string) =>
  (await pageAt<Token>(operator, `/v1/operator/users/${username}/tokens`)).items[0];

const reportedRunner = (username: string, at: string | null) =>
  eventually(async () => expect((await newestOf(username))?.last_used_at).toBe(at));

const MARK = /^update "(?:runner_)?tokens" set "last_used_at"/;

/** Returns how often a use was written during `act`. */
async function marksOf(act: () => Promise<unknown>): Promise<number> {
  const prepare = vi.spyOn(env.DB, "prepare");
  await act();
  const marks = prepare.mock.calls.filter(([sql]) => MARK.test(sql));
  prepare.mockRestore();
  return marks.length;
}

/** Replaces the write of a use. */
function instead(write: () => Promise<never>): void {
  const prepare = env.DB.prepare.bind(env.DB);
  vi.spyOn(env.DB, "prepare").mockImplementation((sql) => {
    const statement = prepare(sql);
    if (!MARK.test(sql)) return statement;
    return Object.assign(statement, { bind: () => Object.assign(statement, { run: write }) });
  });
}

test("a token's use is recorded the first time, and again after 5 min", async () => {
  const { client, username } = await newUser();
  await reportedRunner(username, null);
  const first = now();
  await use(client);
  await reportedRunner(username, first);
  advance(299);
  expect(await marksOf(() => use(client))).toBe(0);
  advance(12);
  expect(await marksOf(() => use(client))).toBe(1);
  await reportedRunner(username, now());
});

test("a token's use is not written while the token is cached, whatever is stored", async () => {
  const { client, user_id } = await newUser();
  expect(await marksOf(() => use(client))).toBe(1);
  await env.DB.prepare("UPDATE tokens SET last_used_at = NULL WHERE user_id = ?")
    .bind(user_id)
    .run();
  advance(9);
  expect(await marksOf(() => use(client))).toBe(0);
});

test("a refused request is not recorded as a token's use", async () => {
  const { username } = await newUser();
  const expires_at = new Date(Date.now() + 5_000).toISOString();
  const client = await newClient(username, { expires_at });
  advance(6);
  const marks = await marksOf(async () =>
    expect((await client.json("GET", "/v1/user")).status).toBe(401),
  );
  expect(marks).toBe(0);
});

test("a runner token's use is recorded as well", async () => {
  const hardware = unique("hw");
  await operator.ok("PUT", `/v1/operator/hardware/${hardware}`, { name: "Box" });
  const token = await newRunnerToken(hardware);
  const told = async () => {
    const { items } = await pageAt<RunnerToken>(operator, "/v1/operator/runner_tokens");
    return items.find((item) => item.hardware.includes(hardware))?.last_used_at;
  };
  expect(await told()).toBeNull();
  await FakeRunner.begin(token, hardware, "box");
  await eventually(async () => expect(await told()).toBe(now()));
});

describe("a request", () => {
  test("a request does not wait for the write of its token's use", async () => {
    const { client } = await newUser();
    const log = captureLog("error");
    const write = vi.fn(() => pause(200).then(() => Promise.reject(new Error("late"))));
    instead(write);
    await use(client);
    expect(write).toHaveBeenCalledTimes(1);
    expect(log).not.toHaveBeenCalled();
    await eventually(() => expect(log).toHaveBeenCalledTimes(1));
  });

  test("a request does not fail when the write of its token's use fails, which is logged", async () => {
    const { client, username } = await newUser();
    const log = captureLog("error");
    instead(() => Promise.reject(new Error("D1 is down")));
    await use(client);
    await eventually(() =>
      expect(log.entries()).toContainEqual({
        level: "error",
        message: "Last use of a token not recorded",
        request_id: expect.any(String),
        error: expect.stringContaining("D1 is down"),
      }),
    );
    expect(JSON.stringify(log.mock.calls)).not.toContain(client.token);
    vi.restoreAllMocks();
    await reportedRunner(username, null);
  });
});
