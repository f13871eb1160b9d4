/** GET /v1/usage: the usage of an account, grouped as the caller asks for it. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { UsageRow } from "../../../src/objects/stubs/account.ts";
import type { Usage } from "../../../src/protocol/usage.ts";
import type { Client } from "../support/client.ts";
import { inAccount } from "../support/objects.ts";
import { newOrganization } from "../support/organizations.ts";
import { startClock, stopClock } from "../support/time.ts";
import { addUsage } from "../support/usage.ts";
import { newUser } from "../support/world.ts";

beforeEach(() => {
  stopClock();
  vi.setSystemTime("2036-11-21T10:00:00Z");
});
afterEach(startClock);

const usageOf = (client: Client, query = "") => client.ok<Usage>("GET", `/v1/usage${query}`);

/** Makes an account with usage of three days. */
async function newAccount() {
  const { client, user_id } = await newUser();
  const add = (day: string, changes: Partial<UsageRow>) =>
    addUsage(user_id, day, { predictions: 1, ...changes });
  await add("2036-10-31", { cost: 1_000_000_000 });
  await add("2036-11-01", { cost: 500_000_000, execution_ms: 1_500, setup_ms: 250 });
  await add("2036-11-02", {
    ...{ model_id: "n", model: "ada/poet", version_number: 3, token_id: "t", token: "CI" },
    ...{ input_tokens: 70, output_tokens: 30, cached_tokens: 7, images: 2, failed: 1 },
  });
  return { client, user_id };
}

test("usage is that of this month by model, unless asked otherwise", async () => {
  const { client } = await newAccount();
  const usage = await usageOf(client);
  const nothing = {
    ...{ predictions: 0, failed: 0, execution_seconds: 0, setup_seconds: 0 },
    ...{ input_tokens: 0, output_tokens: 0, cached_tokens: 0, images: 0, cost: "0" },
  };
  const story = { ...nothing, predictions: 1, execution_seconds: 1.5, setup_seconds: 0.25 };
  const tokens = { input_tokens: 70, output_tokens: 30, cached_tokens: 7, images: 2 };
  expect(usage).toEqual({
    ...{ from: "2036-11-01", to: "2036-11-21", group_by: ["model"], currency: "USD" },
    total: { ...story, ...tokens, predictions: 2, failed: 1, cost: "0.5" },
    groups: [
      { model_id: "m", model: "ada/story", ...story, cost: "0.5" },
      { model_id: "n", model: "ada/poet", ...nothing, predictions: 1, failed: 1, ...tokens },
    ],
  });
});

test("usage is grouped by several things, with the fields of each", async () => {
  const { client } = await newAccount();
  const { groups } = await usageOf(client, "?group_by=token,month,version&from=2036-10-01");
  const names = groups.map(({ month, model, version_number, token, token_id, day, hardware }) => [
    ...[month, model, version_number, token, token_id, day, hardware],
  ]);
  expect(names).toEqual([
    ["2036-10", "ada/story", 1, null, null, undefined, undefined],
    ["2036-11", "ada/story", 1, null, null, undefined, undefined],
    ["2036-11", "ada/poet", 3, "CI", "t", undefined, undefined],
  ]);
  const { groups: days } = await usageOf(client, "?group_by=day&from=2036-11-02&to=2036-11-02");
  expect(days).toMatchObject([{ day: "2036-11-02", predictions: 1 }]);
});

test("usage is a CSV file for those who ask for one", async () => {
  const { client } = await newAccount();
  const address = "/v1/usage?group_by=day,member,hardware";
  const csv = await client.fetch(`${address}&format=csv`);
  expect(csv.headers.get("content-type")).toBe("text/csv; charset=utf-8");
  expect(csv.headers.get("content-disposition")).toBe(
    'attachment; filename="auspex-usage-2036-11-01-2036-11-21.csv"',
  );
  const text = await csv.text();
  expect(text.split("\r\n")).toEqual([
    "day,member_id,member,hardware,predictions,failed,execution_seconds,setup_seconds,input_tokens,output_tokens,cached_tokens,images,cost,currency",
    "2036-11-01,,,cpu,1,0,1.5,0.25,0,0,0,0,0.5,USD",
    "2036-11-02,,,cpu,1,1,0,0,70,30,7,2,0,USD",
    "",
  ]);
  const headers = { accept: "text/csv" };
  expect(await (await client.fetch(address, { headers })).text()).toBe(text);
  const json = await client.fetch(`${address}&format=json`, { headers });
  expect(json.headers.get("content-type")).toContain("application/json");
});

test.each([
  ["group_by=owner", "Input should be one or several of day, month, model"],
  ["group_by=", "Input should be one or several of"],
  ["group_by=day,", "Input should be one or several of"],
  ["from=2036-13-01", "date"],
  ["from=2036-11-02&to=2036-11-01", "should not be before"],
  ["from=2035-01-01", "at most 400 days, not 691"],
  ["by=model", "by"],
])("usage for %s is a 422", async (query, words) => {
  const { client } = await newUser();
  const { status, body } = await client.json<object>("GET", `/v1/usage?${query}`);
  expect(status).toBe(422);
  expect(JSON.stringify(body)).toContain(words);
});

test("usage of more rows than a report has is a 422 that says what to do", async () => {
  const { client, user_id } = await newAccount();
  await inAccount(
    user_id,
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10001)
      INSERT INTO usage SELECT day, 'x' || i, version_number, token_id, maker, hardware, deployment_id, release,
      model, token, member, deployment, predictions, failed, execution_ms, setup_ms, input_tokens, output_tokens, cached_tokens, images, cost, measures
      FROM usage, n WHERE day = '2036-11-01'`,
  );
  const { status, body } = await client.json<object>("GET", "/v1/usage");
  expect(status).toBe(422);
  expect(JSON.stringify(body)).toContain("More than 10,000 rows. Choose fewer days");
  expect((await usageOf(client, "?group_by=day")).total.predictions).toBe(10_003);
});

test("members of an organization get their own usage, and developers that of all", async () => {
  const { user_id, join, service } = await newOrganization();
  const [ada, eve, dev] = [await join("member"), await join("member"), await join("developer")];
  for (const { user_id: maker, username: member } of [ada, eve, dev])
    await addUsage(user_id, "2036-11-20", { maker, member, predictions: 2 });
  const members = async (client: Client) =>
    (await usageOf(client, "?group_by=member")).groups.map(({ member }) => member).toSorted();
  expect(await members(ada.client)).toEqual([ada.username]);
  expect((await usageOf(eve.client)).total.predictions).toBe(2);
  expect(await members(dev.client)).toEqual([ada, eve, dev].map((one) => one.username).toSorted());
  // A service token has made nothing yet.
  expect(await members(await service("member"))).toEqual([]);
  // The organization's usage is not that of a member's own account.
  expect((await usageOf(ada.own)).total.predictions).toBe(0);
});
