/** GET /v1/operator/usage and the page of operators: the usage of all accounts, as their objects report it. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { UsageMessage } from "../../../src/protocol/queue.ts";
import type { DeploymentUsage } from "../../../src/protocol/usage.ts";
import { giveUp, run } from "../support/accounts.ts";
import { newOperator } from "../support/dashboard-users.ts";
import { eventually } from "../support/eventually.ts";
import { keepUp } from "../support/objects.ts";
import { textOf } from "../support/page-text.ts";
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

test("the page of operators has the usage of a month by account, and the same as a CSV file", async () => {
  const { visitor } = await newOperator();
  const [{ user_id, username }, other] = [await newUser(), await newUser()];
  const counted = { failed: 1, execution_ms: 5_000, setup_ms: 60_000, input_tokens: 1_234 };
  const month = "2036-08";
  await deliver("counts", told(user_id, `${month}-03`, { ...counted, cost: 250_000_000 }));
  await deliver("counts", told(other.user_id, `${month}-31`, { predictions: 7 }));
  await deliver("counts", told(other.user_id, "2036-09-01", { predictions: 90 }));
  const { html } = await visitor.look(`/usage?month=${month}`);
  expect(textOf(html)).toContain("Predictions 8 Failed 1 Execution time 5.0 s Cost $0.25");
  expect(textOf(html)).toMatch(
    new RegExp(
      `Cost ${username} 1 1 5\\.0 s 1 min 0 s 1,234 \\$0\\.25 ${other.username} 7 0 0 ms 0 ms 0 –`,
    ),
  );
  expect(html).toContain(`<a href="/users/${username}">`);
  expect(html).toMatch(new RegExp(`<option selected[^>]*>${month}</option>`));
  const days = textOf((await visitor.look(`/usage?month=${month}&by=day`)).html);
  expect(days).toMatch(/2036-08-03 1 1 .* 2036-08-31 7 0 /);
  expect(textOf((await visitor.look("/usage?month=all&by=month")).html)).toMatch(/2036-08 8 1 /);
  const csv = await visitor.fetch(`/usage.csv?month=${month}&by=day`, {});
  expect(csv.headers.get("content-disposition")).toContain("auspex-usage-2036-08-01-2036-08-31");
  expect(await csv.text()).toContain("2036-08-31,7,0,0,0,0,0,0,0,0,USD");
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
