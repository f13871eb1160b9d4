/** The webhook events of budgets. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { newBudget, ranBefore, setPrice } from "../support/budgets.ts";
import { newEndpoint } from "../support/endpoints.ts";
import { eventually } from "../support/eventually.ts";
import { addressOf, exchanged, freshPath, script } from "../support/receiver.ts";
import { advance, passes, startClock, stopClock } from "../support/time.ts";
import { payloadOf } from "../support/webhooks.ts";
import { newWorld, type World } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

/** Runs a prediction for this time, at one unit a second. */
async function runFor(world: World, seconds: number): Promise<string> {
  const { id, channel } = await world.begun();
  advance(seconds);
  const finish = { status: "succeeded", output: "none", execution_seconds: seconds } as const;
  await channel.report([], finish);
  return id;
}

test("the prediction that crosses a line of a budget tells the account's endpoints, once in a window", async () => {
  const world = await newWorld({ configuration: { timeout_seconds: 60 } });
  await setPrice(world, "3600");
  await ranBefore(world, 10, "10");
  const path = freshPath();
  await script(path, { status: 200 });
  const events = ["budget.alert", "budget.exhausted"];
  await newEndpoint(world.client, { url: addressOf(path), events });
  const { id } = await newBudget(world.client, { limit: "30", alert_at: 0.5 });
  const told = async () =>
    (await exchanged(path, 0)).map(payloadOf).map(({ id, webhook, budget }) => ({
      prediction: id,
      event: webhook.event,
      spent: budget?.spent,
      budget: budget?.id,
    }));
  const first = await runFor(world, 8);
  const alerting = await runFor(world, 8);
  const alert = { prediction: alerting, event: "budget.alert", spent: "16", budget: id };
  await eventually(async () => {
    await passes(1, alerting);
    expect(await told()).toEqual([alert]);
  });
  // Another such run reserves 10 units, and 6 are left.
  const last = await runFor(world, 8);
  const exhausted = { prediction: last, event: "budget.exhausted", spent: "24", budget: id };
  await eventually(async () => {
    await passes(1, last);
    expect(await told()).toEqual([alert, exhausted]);
  });
  const body = { model: world.model, input: {} };
  expect((await world.client.refused("/v1/predictions", body)).status).toBe(402);
  await passes(11, first);
  expect(await told()).toHaveLength(2);
});

test("a prediction's own webhook cannot ask for events of budgets", async () => {
  const world = await newWorld();
  const webhook = { url: addressOf(freshPath()), events: ["budget.alert"] };
  const body = { model: world.model, input: {}, webhook };
  expect((await world.client.refused("/v1/predictions", body)).status).toBe(422);
});
