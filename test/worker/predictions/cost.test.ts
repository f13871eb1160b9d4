/** The cost of a prediction: in every answer to its account, out of reach of containers, and hidden from others. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Cost } from "../../../src/protocol/money.ts";
import type { Prediction } from "../../../src/protocol/prediction.ts";
import { replicatePrediction } from "../../../src/protocol/replicate.ts";
import { newDashboardUser } from "../support/dashboard-users.ts";
import { eventsOf, named } from "../support/events.ts";
import { eventually } from "../support/eventually.ts";
import { newRunnable } from "../support/examples.ts";
import { exported, linesIn, ofType } from "../support/export.ts";
import { rowOf } from "../support/objects.ts";
import { textOf } from "../support/page-text.ts";
import { addressOf, exchanged, freshPath } from "../support/receiver.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { Visitor } from "../support/visitor.ts";
import { payloadOf, READY } from "../support/webhooks.ts";
import { newWorld, operator } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

/** 0.0005 a second. */
const PRICE = "1.8";

const COST: Cost = {
  amount: "0.000325",
  currency: "USD",
  parts: [
    { type: "time", quantity: 0.25, unit: "second", price: PRICE, per: 3_600, amount: "0.000125" },
    { type: "setup", quantity: 0.4, unit: "second", price: PRICE, per: 3_600, amount: "0.0002" },
  ],
};

const price = (hardware: string) =>
  operator.ok("PUT", `/v1/operator/hardware/${hardware}`, {
    name: hardware,
    price_per_hour: PRICE,
  });

async function priced() {
  const world = await newWorld();
  await price(world.hardware);
  return world;
}

const FINISH = { status: "succeeded", output: "none", execution_seconds: 3 } as const;
const MEASURED = { ...FINISH, billable: { run_seconds: 0.25, setup_seconds: 0.4 } };

test("the cost of a prediction is in every answer about it, and null until its end", async () => {
  const { client, ...world } = await priced();
  const { id, channel } = await world.begun();
  expect((await client.get(id)).cost).toBeNull();
  advance(1);
  await channel.report([], MEASURED);
  expect((await client.get(id)).cost).toEqual(COST);
  await eventually(async () => expect((await rowOf(id))?.cost).toBe(325_000));
  const { items } = await client.ok<{ items: Prediction[] }>("GET", "/v1/predictions");
  expect(items.map(({ cost }) => cost)).toEqual([COST]);
  const events = await eventsOf(client.stream(id));
  expect(named(events, "done")).toMatchObject([{ id, cost: COST }]);
  expect(named(events, "status")).toMatchObject([{ prediction: { cost: null } }, {}, {}]);
  const replicate = await client.ok("GET", `/replicate/v1/predictions/${id}`);
  expect(replicatePrediction.parse(replicate).cost).toEqual(COST);
  const lines = ofType(linesIn(await exported(client)), "prediction");
  expect(lines.map(({ prediction }) => prediction.cost)).toEqual([COST]);
  const looked = `/v1/operator/users/${world.username}/predictions/${id}`;
  expect(await operator.ok("GET", looked)).toMatchObject({ cost: COST });
  // The row alone is left.
  await client.ok("DELETE", `/v1/predictions/${id}`);
  expect(await client.get(id)).toMatchObject({ data_removed: true, cost: COST });
});

test("an answer to a caller that has waited has the cost", async () => {
  const { client, model, runner } = await priced();
  const creating = client.create({ model, input: {} }, { prefer: "wait" });
  const { channel } = await (await runner()).work();
  advance(1);
  await channel.report([], MEASURED);
  expect((await creating).body.cost).toEqual(COST);
});

test("a webhook has the cost once the prediction has ended", async () => {
  const { client, model, runner } = await priced();
  const path = freshPath();
  await client.create({ model, input: {}, webhook: { url: addressOf(path) } });
  const { channel } = await (await runner()).work();
  await channel.report([READY]);
  advance(1);
  await channel.report([], MEASURED);
  const bodies = (await exchanged(path, 2)).map(payloadOf);
  const costs = bodies.map(({ webhook, cost }) => [webhook.event, cost]);
  expect(costs).toEqual([
    ["started", null],
    ["completed", COST],
  ]);
});

test("a container that reports a cost as a metric changes nothing", async () => {
  const { client, ...world } = await priced();
  const { id, channel } = await world.begun();
  advance(1);
  const metrics = { cost: 0, amount: -1, run_seconds: 0, setup_seconds: 0, billable: 0 };
  await channel.report([{ event: "metrics", data: metrics }], MEASURED);
  expect(await client.get(id)).toMatchObject({ metrics, cost: COST });
});

test("a runner that says too much is believed up to the time that it had the job", async () => {
  const { client, ...world } = await priced();
  const { id, channel } = await world.begun();
  advance(10);
  await channel.report([], { ...FINISH, billable: { run_seconds: 4_000, setup_seconds: 4_000 } });
  const { cost } = await client.get(id);
  expect(Number(cost?.amount)).toBeGreaterThanOrEqual(0.005);
  expect(Number(cost?.amount)).toBeLessThan(0.0051);
});

test("a runner whose measure is none is refused its frame", async () => {
  const { client, ...world } = await priced();
  const { id, channel } = await world.begun();
  const billable = { run_seconds: -1, setup_seconds: 0 };
  await channel.report([], { ...FINISH, billable }).catch(() => {});
  expect((await client.get(id)).status).not.toBe("succeeded");
});

test("those who see an example or a shared prediction do not learn its cost", async () => {
  const person = await newDashboardUser();
  const { client, visitor } = person;
  const { runner, path, reference } = await newRunnable(person, { visibility: "public" });
  await price(runner.hardware);
  const { id } = (await client.create({ model: reference, input: {} })).body;
  const { channel } = await runner.work();
  advance(1);
  const output = [{ event: "output", data: "Off with her head" }] as const;
  await channel.report([...output], { ...MEASURED, output: "value" });
  expect((await client.get(id)).cost).toEqual(COST);
  await visitor.look(path);
  await visitor.send(`${path}/examples`, { prediction_id: id });
  const { html: page } = await visitor.look(`/predictions/${id}`);
  expect(textOf(page)).toContain("cost $0.00033 time 0.3 s · $0.00013 setup 0.4 s · $0.0002");
  const { html } = await visitor.send(`/predictions/${id}/share`, { days: "7" });
  const [shared = ""] = /\/shared\/auss_\w+/.exec(html) ?? [];
  const { client: other } = await newDashboardUser();
  const texts = [
    (await new Visitor().look(shared)).html,
    (await new Visitor().look(`${path}/examples`)).html,
    await (await other.fetch(`/v1${path}/examples`)).text(),
    await (await other.fetch(`/replicate/v1${path}/examples`)).text(),
  ];
  for (const text of texts) {
    expect(text).toContain("Off with her head");
    expect(text).not.toMatch(/"cost":\{|"amount"|\$0\.0/);
  }
  const { status } = await other.json("GET", `/v1/predictions/${id}`);
  expect(status).toBe(404);
});
