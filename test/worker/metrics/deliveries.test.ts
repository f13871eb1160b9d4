/** Webhook deliveries in the metrics of the deployment. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { drizzle } from "drizzle-orm/durable-sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { DeliveryRow } from "../../../src/domain/webhooks/delivery-row.ts";
import { Deliveries } from "../../../src/objects/account/deliveries.ts";
import { SentMeasures } from "../../../src/objects/account/measures.ts";
import { createTables } from "../../../src/objects/account/tables.ts";
import { among, readMetrics, seriesOf } from "../support/metrics.ts";
import { accountOf, keepUp } from "../support/objects.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newClient, newOperatorUser, newWorld } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

const row = (n: number, changes: Partial<DeliveryRow> = {}): DeliveryRow => ({
  prediction_id: `01a20000-0000-7000-8000-${String(n).padStart(12, "0")}`,
  ...{ sequence: 5, endpoint_id: "", event: "completed", at: 1_000, url: null },
  ...{ state: "delivered", attempts: 1, status: 200, error: null, next_at: null, told_at: 2_000 },
  ...changes,
});

const FAILED: Partial<DeliveryRow> = { state: "failed", error: "e", attempts: 9, told_at: 3_000 };

const NAME = "auspex_webhook_deliveries_total";

test("a delivery counts once when it has ended, whatever is reported again, deleted, lost or restarted", async () => {
  const id = env.METRICS.newUniqueId();
  const account = env.ACCOUNT.get(env.ACCOUNT.newUniqueId());
  await runInDurableObject(account, async (_, { storage }) => {
    createTables(storage.sql);
    const metrics = env.METRICS.get(id);
    let isLost = false;
    const begin = () => {
      const measures = new SentMeasures(storage, "account", async (batch) => {
        await metrics.addBatch(batch);
        if (isLost) throw new Error("the answer was lost");
      });
      const published = () => measures.deliveries;
      const deliveries = new Deliveries(storage.sql, drizzle(storage), published);
      const publish = () =>
        measures.publish("2026-11-29", { deliveries: deliveries.totals, levels: null });
      return { deliveries, publish };
    };
    let { deliveries, publish } = begin();
    const pending = { state: "pending", attempts: 1, status: 500, error: "e" } as const;
    expect(deliveries.record([row(1, pending), row(2, { event: "output" })])).toBe(false);
    expect(deliveries.record([row(1, FAILED), row(3), row(4, { state: "superseded" })])).toBe(true);
    await publish();
    isLost = true;
    // An owner sends one again, and an old report comes late.
    deliveries.record([row(1, { ...FAILED, state: "delivered", attempts: 10, told_at: 4_000 })]);
    deliveries.record([row(1, FAILED)]);
    await expect(publish()).rejects.toThrow("lost");
    ({ deliveries, publish } = begin());
    expect(deliveries.record([row(3)])).toBe(false);
    isLost = false;
    for (let n = 10; n < 1_200; n++) deliveries.record([row(n)]);
    await publish();
    storage.sql.exec("DELETE FROM deliveries");
    ({ deliveries, publish } = begin());
    deliveries.record([row(2_000, FAILED)]);
    await publish();
  });
  const series = seriesOf(await env.METRICS.get(id).exposition());
  expect(among(series, NAME)).toEqual({
    [`${NAME}{outcome="failed"}`]: 2,
    [`${NAME}{outcome="delivered"}`]: 1_192,
    [`${NAME}{outcome="superseded"}`]: 1,
  });
});

test("a delivery that ends after its prediction was counted is reported within minutes", async () => {
  const operator = await newOperatorUser();
  const collector = await newClient(operator.username, { scopes: ["metrics"] });
  const failed = async () => (await readMetrics(collector)).get(`${NAME}{outcome="failed"}`) ?? 0;
  const world = await newWorld();
  await world.waiting();
  advance(61);
  await keepUp(world.user_id);
  const before = await failed();
  const account = await accountOf(world.user_id);
  await account?.recordDeliveries([row(1, FAILED)]);
  advance(301);
  await keepUp(world.user_id);
  expect(await failed()).toBeGreaterThan(before);
});
