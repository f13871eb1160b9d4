/** Hard budgets of accounts in the metrics, and alerts about them. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { readFacts } from "../../../src/services/alerts/facts.ts";
import { services } from "../support/accounts.ts";
import { newBudget, removeBudgets, setPrice } from "../support/budgets.ts";
import { eventually } from "../support/eventually.ts";
import { among, readMetrics } from "../support/metrics.ts";
import { keepUp, rowOf } from "../support/objects.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newClient, newOperatorUser, newWorld } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

const NAME = "auspex_budget_remaining";

test("a hard budget has a gauge and an alert when it is used up, until it resets or is gone", async () => {
  const operator = await newOperatorUser();
  const collector = await newClient(operator.username, { scopes: ["metrics"] });
  const world = await newWorld({ configuration: { timeout_seconds: 60 } });
  await setPrice(world, "3600");
  const { username, client, user_id } = world;
  const remaining = async () => {
    advance(61);
    await keepUp(user_id);
    return Object.values(among(await readMetrics(collector), NAME, `account="${username}"`));
  };
  const alerts = async () =>
    (await readFacts(services, Date.now())).holding.filter(({ subject }) => subject === user_id);
  const { id } = await newBudget(client, { limit: "70", window: "day" });
  await newBudget(client, { limit: "1", kind: "alert" });
  const run = await world.begun();
  advance(50);
  const finish = { status: "succeeded", output: "none", execution_seconds: 50 } as const;
  await run.channel.report([], finish);
  await eventually(async () => expect((await rowOf(run.id))?.status).toBe("succeeded"));
  expect(await remaining()).toEqual([20]);
  expect(Object.keys(among(await readMetrics(collector), NAME, `account="${username}"`))).toEqual([
    `${NAME}{account="${username}",budget="${id}",scope="account",window="day",currency="USD"}`,
  ]);
  // Another such run reserves 60 units.
  expect(await alerts()).toMatchObject([
    { rule: "budget_exhausted", name: username, text: "Used up: 70 USD a day." },
  ]);
  // The account runs nothing, and does not say that the day is over.
  advance(86_400);
  expect(Object.values(among(await readMetrics(collector), NAME, `account="${username}"`))).toEqual(
    [70],
  );
  expect(await alerts()).toEqual([]);
  await removeBudgets(client);
  expect(await remaining()).toEqual([]);
});
