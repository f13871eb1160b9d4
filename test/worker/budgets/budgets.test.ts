/** Budgets in the API, and what they refuse, limit and count. */

import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { getServices } from "../../../src/services/services.ts";
import { getAccountFacts } from "../../../src/storage/webhooks/account-facts.ts";
import { run } from "../support/accounts.ts";
import { listBudgets, newBudget, ranBefore, setPrice } from "../support/budgets.ts";
import { eventually } from "../support/eventually.ts";
import { accountOf, inAccount, rowOf } from "../support/objects.ts";
import { advance } from "../support/time.ts";
import { newClient, newUser, newWorld, operator, type World } from "../support/world.ts";

/** A run costs up to 3,600 + 10 units: its setup and its run at one unit a second. */
const CONFIGURATION = { timeout_seconds: 10 };

async function pricedWorld(): Promise<World> {
  const world = await newWorld({ configuration: CONFIGURATION });
  await setPrice(world, "3600");
  return world;
}

test("a budget is created, changed and deleted, with what is spent and reserved of it", async () => {
  const world = await pricedWorld();
  const { client } = world;
  const budget = await newBudget(client, { limit: 10_000, window: "month", alert_at: 0.5 });
  expect(budget).toMatchObject({
    scope: "account",
    ...{ limit: "10000", currency: "USD", window: "month", kind: "hard", alert_at: 0.5 },
    ...{ spent: "0", reserved: "0", left: "10000", set_by: "admin", member: null, token_id: null },
  });
  const changed = await client.ok("PATCH", `/v1/budgets/${budget.id}`, { limit: "5000.5" });
  expect(changed).toMatchObject({ id: budget.id, limit: "5000.5", window: "month" });
  expect(await listBudgets(client)).toEqual([changed]);
  await client.ok("DELETE", `/v1/budgets/${budget.id}`);
  expect(await listBudgets(client)).toEqual([]);
  const { budgeted } = await getAccountFacts(getServices(env).db, world.user_id);
  expect(budgeted).toEqual([]);
});

test.each([
  ["is revoked", (id: string) => run("DELETE FROM tokens WHERE id = ?", id)],
  ["expires", (id: string) => run("UPDATE tokens SET expires_at = 1 WHERE id = ?", id)],
])("the budgets of a token that %s go with it, and a run of it still ends", async (_, end) => {
  const world = await pricedWorld();
  const { user_id, client } = world;
  const budgeted = async () => (await getAccountFacts(getServices(env).db, user_id)).budgeted;
  const [token] = await run("SELECT id, name FROM tokens WHERE user_id = ?", user_id);
  const [token_id, called] = [String(token?.id), String(token?.name)];
  const other = await newClient(world.username);
  const budget = await newBudget(client, { limit: "5000", token_id });
  expect(budget).toMatchObject({ scope: "token", token_id, token: called });
  const kept = await newBudget(other, { limit: "5000" });
  const { channel, id } = await world.begun();
  expect(await budgeted()).toEqual(["", `token:${token_id}`]);
  await end(token_id);
  expect((await listBudgets(other)).map((one) => one.id)).toEqual([kept.id]);
  expect(await inAccount(user_id, "SELECT id FROM budgets")).toEqual([{ id: kept.id }]);
  expect(await budgeted()).toEqual([""]);
  const again = await other.post("/v1/budgets", { limit: "1", window: "day", token_id });
  expect(again.status).toBe(422);
  advance(5);
  await channel.report([], { status: "succeeded", output: "none", execution_seconds: 2.5 });
  await eventually(async () => expect(await rowOf(id)).toMatchObject({ status: "succeeded" }));
  expect(await listBudgets(other)).toMatchObject([{ spent: "2.5", reserved: "0" }]);
});

test("the budgets of ended tokens leave room for another", async () => {
  const { user_id, client } = await newUser();
  const { id } = await newBudget(client, { limit: "1", kind: "alert" });
  await inAccount(
    user_id,
    `INSERT INTO budgets SELECT 'b' || value, 'token:' || value, unit, most, "window", kind, level, alert_at,
      created_at, updated_at, window_start, spent, alerted_by, exhausted_by
      FROM budgets, json_each(?) WHERE budgets.id = ?`,
    JSON.stringify(Array.from({ length: 499 }, (_, n) => n)),
    id,
  );
  await evictDurableObject((await accountOf(user_id)) ?? expect.fail("no account"));
  const { id: second } = await newBudget(client, { limit: "2" });
  expect((await listBudgets(client)).map((one) => one.id)).toEqual([id, second]);
});

test("the look-up of a create names only subjects with a hard budget", async () => {
  const world = await newUser();
  const budgeted = async () => (await getAccountFacts(getServices(env).db, world.user_id)).budgeted;
  const { id } = await newBudget(world.client, { limit: "1", kind: "alert" });
  expect(await budgeted()).toEqual([]);
  await world.client.ok("PATCH", `/v1/budgets/${id}`, { kind: "hard" });
  expect(await budgeted()).toEqual([""]);
  await world.client.ok("PATCH", `/v1/budgets/${id}`, { kind: "alert" });
  expect(await budgeted()).toEqual([]);
});

test.each([
  [{ limit: "9000000.1" }, "limit"],
  [{ limit: -1 }, "limit"],
  [{ limit: "1", window: "year" }, "window"],
  [{ limit: "1", alert_at: 0 }, "alert_at"],
  [{ limit: "1", member: "nobody-here" }, "member"],
  [{ limit: "1", token_id: crypto.randomUUID() }, "token_id"],
  [{ limit: "1", member: "a", token_id: crypto.randomUUID() }, "token_id"],
])("a budget of %j is refused at its field", async (request, field) => {
  const { client } = await newUser();
  const response = await client.post("/v1/budgets", { window: "day", ...request });
  expect(response.status).toBe(422);
  expect(await response.text()).toContain(field);
});

test("a second budget of a subject, a window and a kind is refused, unless an operator sets it", async () => {
  const { client, username } = await newUser();
  const { id } = await newBudget(client, { limit: "5" });
  const refused = await client.post("/v1/budgets", { limit: "9", window: "total" });
  expect(refused.status).toBe(409);
  expect(await refused.text()).toContain(`Change its limit (PATCH …/budgets/${id})`);
  // A repeated create makes the same budget.
  expect((await newBudget(client, { limit: "5" })).id).toBe(id);
  await newBudget(client, { limit: "9", window: "month" });
  const alert = await newBudget(client, { limit: "4", kind: "alert" });
  const changed = await client.json("PATCH", `/v1/budgets/${alert.id}`, { kind: "hard" });
  expect(changed.status).toBe(409);
  await client.ok("PATCH", `/v1/budgets/${id}`, { limit: "6", kind: "hard" });
  const path = `/v1/operator/users/${username}/budgets`;
  await operator.ok("POST", path, { limit: "1", window: "total" });
  expect(await listBudgets(client)).toHaveLength(4);
});

test("a budget of 0 refuses what has a price, and nothing else", async () => {
  const world = await newWorld({ configuration: CONFIGURATION });
  await newBudget(world.client, { limit: 0 });
  const body = { model: world.model, input: {} };
  expect((await world.client.post("/v1/predictions", body)).status).toBe(202);
  await setPrice(world, "3600");
  const refused = await world.client.post("/v1/predictions", body);
  expect([refused.status, await refused.json()]).toMatchObject([
    402,
    {
      detail:
        "The budget of this account is set to 0, which refuses all predictions that can cost something. An owner or admin of the account can raise it.",
    },
  ]);
});

test("a change of a budget's window is refused, and says what to do instead", async () => {
  const { client } = await newUser();
  const { id } = await newBudget(client, { limit: "5" });
  const answer = await client.json("PATCH", `/v1/budgets/${id}`, { window: "day" });
  expect([answer.status, answer.body]).toMatchObject([
    422,
    {
      detail: [
        {
          loc: ["body", "window"],
          msg: "The window of a budget cannot be changed. Delete the budget, and create another",
        },
      ],
    },
  ]);
});

test("a prediction reserves the most that it can cost, and its cost is what it took at the end", async () => {
  const world = await pricedWorld();
  await newBudget(world.client, { limit: "5000" });
  const { channel, id } = await world.begun();
  const [{ reserved = "" } = {}] = await listBudgets(world.client);
  expect(Number(reserved)).toBeGreaterThan(10);
  advance(5);
  await channel.report([], { status: "succeeded", output: "none", execution_seconds: 2.5 });
  await eventually(async () => expect(await rowOf(id)).toMatchObject({ status: "succeeded" }));
  expect(await listBudgets(world.client)).toMatchObject([{ spent: "2.5", reserved: "0" }]);
});

test("an empty budget refuses with 402 and says what is left, but a known key answers its prediction", async () => {
  const world = await pricedWorld();
  await ranBefore(world, 10, "10");
  await newBudget(world.client, { limit: "15" });
  const body = { model: world.model, input: {} };
  const first = await world.client.create(body, { "idempotency-key": "k" });
  const refused = await world.client.post("/v1/predictions", body);
  expect(refused.status).toBe(402);
  expect(await refused.json()).toMatchObject({
    type: "urn:auspex:budget_exhausted",
    detail:
      "The budget of this account does not allow this prediction: 5 USD of 15 USD in total is left (10 USD is reserved for runs that have not ended), and it needs at least 10 USD. The budget does not reset. An owner or admin of the account can raise it.",
  });
  const again = await world.client.create(body, { "idempotency-key": "k" });
  expect(again.body.id).toBe(first.body.id);
  // A 402 claims nothing: the key works once there is room.
  const headers = { "idempotency-key": "later" };
  expect((await world.client.post("/v1/predictions", body, headers)).status).toBe(402);
  await world.client.cancel(first.body.id);
  await eventually(async () => {
    const { status } = await world.client.post("/v1/predictions", body, headers);
    expect(status).toBe(202);
  });
  const rows = await inAccount(world.user_id, "SELECT * FROM reservations");
  expect(rows).toHaveLength(1);
});

test("OpenAI's clients get insufficient_quota and are told not to retry, Anthropic's a billing error", async () => {
  const world = await newWorld({
    configuration: { ...CONFIGURATION, interface: "vendora" },
    compatibilities: { vendora_chat_completions: true, vendorb_messages: true },
  });
  await setPrice(world, "3600");
  await newBudget(world.client, { limit: "1" });
  const body = { model: world.model, max_tokens: 5, messages: [{ role: "user", content: "hi" }] };
  const chat = await world.client.post("/openai/v1/chat/completions", body);
  expect([chat.status, chat.headers.get("x-should-retry")]).toEqual([429, "false"]);
  expect(chat.headers.get("retry-after")).toBeNull();
  expect(await chat.json()).toMatchObject({
    error: {
      code: "insufficient_quota",
      message: expect.stringContaining("which is more than the whole budget"),
    },
  });
  const message = await world.client.post("/anthropic/v1/messages", body);
  expect([message.status, message.headers.get("x-should-retry")]).toEqual([402, "false"]);
  expect(await message.json()).toMatchObject({ error: { type: "billing_error" } });
});

test("a token's budget limits its predictions, and those of no other token", async () => {
  const world = await pricedWorld();
  const [token] = await run("SELECT id FROM tokens WHERE user_id = ?", world.user_id);
  const other = await newClient(world.username, { name: "other" });
  await newBudget(other, { limit: "1", token_id: token?.id });
  const body = { model: world.model, input: {} };
  for (const start_check of [undefined, true])
    expect((await world.client.post("/v1/predictions", { ...body, start_check })).status).toBe(402);
  expect((await other.post("/v1/predictions", body)).status).toBe(202);
  const check = { ...body, start_check: true };
  expect((await world.client.post("/v1/predictions", check)).status).toBe(402);
  // The token cannot raise its own budget.
  const refused = await world.client.post("/v1/budgets", { limit: "5", window: "day" });
  expect(refused.status).toBe(403);
});

test("only an operator changes a budget that an operator has set", async () => {
  const world = await pricedWorld();
  const path = `/v1/operator/users/${world.username}/budgets`;
  const { id } = await operator.ok<{ id: string }>("POST", path, { limit: "1", window: "day" });
  expect(await listBudgets(world.client)).toMatchObject([{ id, set_by: "operator" }]);
  for (const [method, request] of [
    ["PATCH", { limit: "9" }],
    ["DELETE", undefined],
  ] as const) {
    const { status } = await world.client.json(method, `/v1/budgets/${id}`, request);
    expect(status).toBe(403);
  }
  await operator.ok("PATCH", `${path}/${id}`, { limit: "9" });
  expect(await listBudgets(world.client)).toMatchObject([{ limit: "9" }]);
  await operator.ok("DELETE", `${path}/${id}`);
  expect(await listBudgets(world.client)).toEqual([]);
});

test("a hard budget that is created while another of its subject is deleted limits predictions", async () => {
  const world = await pricedWorld();
  const { id } = await newBudget(world.client, { limit: "1000000" });
  const deleting = world.client.ok("DELETE", `/v1/budgets/${id}`);
  await Promise.all([deleting, newBudget(world.client, { limit: "1", window: "day" })]);
  const { budgeted } = await getAccountFacts(getServices(env).db, world.user_id);
  expect(budgeted).toEqual([""]);
});
