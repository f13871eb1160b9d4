/** Estimates of predictions, which are not created. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Estimate } from "../../../src/protocol/estimate.ts";
import { readyContainer } from "../../protocol/runner-snapshot.ts";
import { newBudget, ranBefore } from "../support/budgets.ts";
import { Client } from "../support/client.ts";
import { AT, created, estimateOf, runs, setPrice } from "../support/estimates.ts";
import { accountOf } from "../support/objects.ts";
import { newOrganization } from "../support/organizations.ts";
import { startClock, stopClock } from "../support/time.ts";
import { newClient, newUser, newWorld, operator } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

describe("an estimate", () => {
  test("nothing is known of a version that has never run, and nothing is created", async () => {
    const world = await newWorld();
    await setPrice(world);
    const [owner, name] = world.model.split("/");
    expect(await estimateOf(world.client, world.model)).toEqual({
      model: { owner, name, version_number: 1 },
      ...{ state: "away", basis: "none", runs: 0 },
      ...{ execution_time: null, setup_time: null, cost: null },
      cost_reason: expect.stringContaining("There are 0."),
      ...{ would_admit: true, reason: null },
    });
    expect(await accountOf(world.user_id)).toBeUndefined();
  });

  test("an account without enough runs of its own gets the mean of all accounts, which has no range", async () => {
    const world = await newWorld({ visibility: "public" });
    await setPrice(world);
    const runner = await world.runner(2);
    await world.waiting();
    const { keys } = await runner.take();
    const measured = [{ key: keys.container, setup_ms: 42_000, run_ms: 2_500 }];
    await runner.tellState({ warm: [keys.container], measured });
    const stranger = await world.stranger();
    expect(await estimateOf(stranger, world.model)).toMatchObject({
      ...{ state: "warm", basis: "all_runs", runs: 0, setup_time: "42.000" },
      execution_time: { expected: "2.500", low: null, high: null },
      cost: { expected: "0.0025", low: null, high: null, currency: "USD" },
    });
    // A start of a container is paid, too.
    await runner.tellState({ warm: [], measured });
    expect(await estimateOf(stranger, world.model)).toMatchObject({
      state: "cold",
      cost: { expected: "0.0445" },
    });
    const { hardware } = world;
    const full = readyContainer({ key: keys.container, max_concurrency: 1, users: 1, hardware });
    await runner.tellState({ containers: [full], max_containers: 1 });
    expect((await estimateOf(stranger, world.model)).state).toBe("busy");
    // How many tokens a run uses is not known.
    const prices = { per_million_input_tokens: 1 };
    const path = `${world.model}/versions/1/prices`;
    await operator.ok("PUT", `/v1/operator/models/${path}`, { prices });
    expect(await estimateOf(stranger, world.model)).toMatchObject({
      ...{ basis: "all_runs", cost: null },
      cost_reason:
        "The cost is known from 5 runs of this version that have succeeded and that you may read. There are 0.",
    });
  });

  test("an account's own runs give the median and the range of eight runs in ten, at today's prices", async () => {
    const world = await newWorld();
    await runs(world, [10, 1, 9, 2, 8, 3, 7, 4, 6, 5], { output_tokens: 1_000 });
    const own = { basis: "own_runs", runs: 10 };
    const execution_time = { expected: "5.000", low: "1.000", high: "9.000" };
    expect(await estimateOf(world.client, world.model)).toMatchObject({
      ...{ ...own, execution_time, cost: null },
      cost_reason: "Neither the hardware nor the version has a price.",
    });
    await setPrice(world);
    expect(await estimateOf(world.client, world.model)).toMatchObject({
      ...{ ...own, execution_time },
      cost: { expected: "0.005", low: "0.001", high: "0.009", currency: "USD" },
      cost_reason: null,
    });
    const prices = { per_second: 0, per_million_output_tokens: 2 };
    const path = `${world.model}/versions/1/prices`;
    await operator.ok("PUT", `/v1/operator/models/${path}`, { prices });
    expect((await estimateOf(world.client, world.model)).cost).toMatchObject({
      ...{ expected: "0.002", low: "0.002", high: "0.002" },
    });
  });
});

test("an estimate is of the runs that the caller may read: not of other members', nor for client tokens", async () => {
  const organization = await newOrganization();
  await setPrice(organization);
  const [member, other] = [await organization.join("member"), await organization.join("member")];
  const developer = await organization.join("developer");
  const by = {
    ...organization,
    waiting: (input?: object) => created(member.client, organization.model, input),
  };
  await runs(by, [1, 2, 3, 4, 5]);
  const known = { basis: "own_runs", runs: 5, cost: { expected: "0.003", low: "0.001" } };
  for (const { client } of [member, developer])
    expect(await estimateOf(client, organization.model)).toMatchObject(known);
  const unknown = { basis: "none", runs: 0, execution_time: null, cost: null };
  expect(await estimateOf(other.client, organization.model)).toMatchObject(unknown);
  const made = await organization.client.ok<{ token: string }>("POST", "/v1/client_tokens", {
    ...{ models: [organization.model], origins: ["https://app.example.com"] },
  });
  const body = { model: organization.model, input: {} };
  const headers = { origin: "https://app.example.com" };
  const answer = await new Client(made.token).json<Estimate>("POST", AT, body, headers);
  expect(answer.body).toMatchObject(unknown);
});

describe("an estimate says whether a create would be admitted", () => {
  const admitted = { would_admit: true, reason: null };

  /** Returns an estimate's answer, and expects that a create would be answered alike. */
  async function asked(by: Client, model: string) {
    const { would_admit, reason } = await estimateOf(by, model);
    const created = await by.json<{ detail?: string }>("POST", "/v1/predictions", {
      ...{ model, input: {} },
    });
    expect(created.status).toBe(would_admit ? 202 : 402);
    expect(reason).toBe(would_admit ? null : created.body.detail);
    return { would_admit, reason };
  }

  test("an empty budget would refuse it, with the reason, and the budget of another account changes nothing", async () => {
    const world = await newWorld({ visibility: "public" });
    await setPrice(world);
    const stranger = await newUser();
    await newBudget(stranger.client, { limit: "0.001" });
    expect(await asked(world.client, world.model)).toEqual(admitted);
    await ranBefore(world, 10, "3");
    await newBudget(world.client, { limit: "5" });
    const reads = async () => (await estimateOf(world.client, world.model)).would_admit;
    // An estimate reserves nothing.
    for (let n = 0; n < 3; n++) expect(await reads()).toBe(true);
    // A run reserves 3 units, or the 2 that are left.
    for (let n = 0; n < 2; n++) expect(await asked(world.client, world.model)).toEqual(admitted);
    expect(await asked(world.client, world.model)).toEqual({
      would_admit: false,
      reason: expect.stringContaining("0 USD of 5 USD in total is left"),
    });
  });

  test("the budget of a client token counts before its first prediction", async () => {
    const world = await newWorld();
    await setPrice(world);
    await world.waiting();
    const made = await world.client.ok<{ token: string }>("POST", "/v1/client_tokens", {
      ...{ models: [world.model], origins: ["https://app.example.com"], budget: "0.001" },
    });
    const headers = { origin: "https://app.example.com" };
    const by = new Client(made.token);
    const answer = await by.json<Estimate>("POST", AT, { model: world.model, input: {} }, headers);
    expect(answer.body).toMatchObject({
      would_admit: false,
      reason: expect.stringContaining("The budget of this client token"),
    });
  });
});

describe("an estimate is refused", () => {
  test("a body that a create would refuse is refused alike", async () => {
    const world = await newWorld({
      input: { type: "object", required: ["text"], properties: { text: { type: "string" } } },
    });
    const { client, model, username } = world;
    const statusOf = async (by: Client, body: object, headers = {}) =>
      (await by.json("POST", AT, { model, input: {}, ...body }, headers)).status;
    expect(await statusOf(client, {})).toBe(200);
    const validated = { "validate-input": "true" };
    expect(await statusOf(client, {}, validated)).toBe(422);
    expect(await statusOf(client, { input: { text: "a" } }, validated)).toBe(200);
    expect(await statusOf(client, { retention_seconds: 1e9 })).toBe(422);
    expect(await statusOf(client, { misspelt: 1 })).toBe(422);
    expect(await statusOf(client, { model: `${model}:9` })).toBe(404);
    expect(await statusOf((await newUser()).client, {})).toBe(404);
    const low = await newClient(username, { priority: "low" });
    expect(await statusOf(low, { priority: "high" })).toBe(403);
  });
});
