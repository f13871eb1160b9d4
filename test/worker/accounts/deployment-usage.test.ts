/** GET /v1/operator/usage: the usage of all accounts, as their objects report it. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { UsageMessage } from "../../../src/protocol/queue.ts";
import type { DeploymentUsage } from "../../../src/protocol/usage.ts";
import { giveUp, run } from "../support/accounts.ts";
import { eventually } from "../support/eventually.ts";
import { keepUp } from "../support/objects.ts";
import { deliver, sweep } from "../support/queues.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { NO_COUNTS } from "../support/usage.ts";
import { newUser, newWorld, operator } from "../support/world.ts";

beforeEach(() => {
  stopClock();
  vi.setSystemTime("2036-11-21T10:00:00Z");
});
afterEach(startClock);

const usage = (query = "") => operator.ok<DeploymentUsage>("GET", `/v1/operator/usage${query}`);

const groupOf = async (username: string, query = "") =>
  (await usage(query)).groups.filter(({ account }) => account === username);

test("an account reports the usage of a day within minutes, also that of a run that took long", async () => {
  const world = await newWorld();
  await operator.put(`/v1/operator/hardware/${world.hardware}`, {
    ...{ name: world.hardware, price_per_hour: "3.6" },
  });
  const { channel } = await world.begun();
  advance(120);
  await channel.report([{ event: "metrics", data: { input_tokens: 7 } }], {
    ...{ status: "succeeded", output: "none", execution_seconds: 2 },
  });
  advance(301);
  await keepUp(world.user_id);
  await eventually(async () =>
    expect(await groupOf(world.username)).toMatchObject([
      { account: world.username, predictions: 1, execution_seconds: 2, input_tokens: 7 },
    ]),
  );
  const [{ cost } = { cost: "0" }] = await groupOf(world.username);
  expect(cost).toBe("0.002");
  const days = await groupOf(world.username, "?group_by=day,account");
  expect(days).toMatchObject([{ day: "2036-11-21", account_id: world.user_id, cost }]);
});

const told = (user_id: string, day: string, changes: Partial<UsageMessage>): UsageMessage => ({
  ...{ user_id, day, ...NO_COUNTS, predictions: 1, told_at: 1, ...changes },
});

test("reports are absolute: the latest counts, however often and in whatever order they come", async () => {
  const { user_id, username } = await newUser();
  const first = told(user_id, "2036-11-20", { predictions: 5, cost: 2_000_000_000 });
  const second = told(user_id, "2036-11-20", { predictions: 4, cost: 9, told_at: 2 });
  await deliver("counts", first, second, first, { hello: 1 });
  await deliver("counts", told(user_id, "2036-10-20", { cost: 1 }));
  expect(await groupOf(username)).toMatchObject([{ predictions: 4, cost: "0.000000009" }]);
  const months = await groupOf(username, "?from=2036-10-01&group_by=month,account");
  expect(months.map(({ month, predictions }) => [month, predictions])).toEqual([
    ["2036-10", 1],
    ["2036-11", 4],
  ]);
});

test("an operator gets the usage of all accounts as a CSV file", async () => {
  const { user_id, username } = await newUser();
  await deliver("counts", told(user_id, "2036-11-03", { images: 2 }));
  const address = "/v1/operator/usage?from=2036-11-03&to=2036-11-03&format=csv";
  const csv = await operator.fetch(address);
  expect(csv.headers.get("content-type")).toContain("text/csv");
  const text = await csv.text();
  expect(text).toMatch(/^account_id,account,predictions,failed,execution_seconds,.*,cost,currency/);
  expect(text).toContain(`\r\n${user_id},${username},1,0,0,0,0,0,0,2,0,USD\r\n`);
});

test("usage of a deleted account is deleted from that of the deployment", async () => {
  const world = await newUser();
  await deliver("counts", told(world.user_id, "2036-11-21", {}));
  await giveUp(world);
  advance(49 * 3_600);
  await eventually(async () => {
    await sweep();
    const rows = await run("SELECT day FROM account_usage WHERE user_id = ?", world.user_id);
    expect(rows).toEqual([]);
  });
});
