/** The metrics object, the isolates and the pools that write to it are killed: counters go on. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SentMeasures } from "../../../src/objects/account/measures.ts";
import { createTables } from "../../../src/objects/account/tables.ts";
import { addUsage, type EndedRow } from "../../../src/objects/account/usage.ts";
import type { MetricsObject } from "../../../src/objects/metrics/object.ts";
import { Counts } from "../../../src/objects/stubs/metrics.ts";
import { among, metricsObject, readMetrics, seriesOf } from "../support/metrics.ts";
import { lineOf, restart } from "../support/pool.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newClient, newOperatorUser, newWorld, unique } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

const ENDED: EndedRow = {
  ...{ updated_at: 0, model_id: "story", model_owner: "ada", model_name: "story" },
  ...{ version_number: 1, token_id: "", token_name: "", maker: "", created_by: null },
  ...{ deployment_id: null, deployment: null, release: null },
  ...{ hardware: "gpu", status: "succeeded", setup_time: null, execution_time: 1 },
  ...{ metrics: null, cost: 0, measures: { succeeded: 1, "run:sum": 1_000, "run:7": 1 } },
};
const DAY = "2026-11-29";

/** Ends the object at once, with all calls that are under way. */
const kill = (metrics: DurableObjectStub<MetricsObject>) =>
  runInDurableObject(metrics, (_, ctx) => ctx.abort("killed")).catch(() => undefined);

const sum = (series: Record<string, number>) =>
  Object.values(series).reduce((total, value) => total + value, 0);

test("counters never go back, and count once, while the metrics object dies during batches", async () => {
  const id = env.METRICS.newUniqueId();
  const stub = () => env.METRICS.get(id);
  const counted = async () => {
    const series = seriesOf(await stub().exposition());
    return [
      sum(among(series, "auspex_predictions_total")),
      sum(among(series, "auspex_prediction_run_seconds_count")),
    ];
  };
  const account = env.ACCOUNT.get(env.ACCOUNT.newUniqueId());
  const made = await runInDurableObject(account, async (_, { storage }) => {
    createTables(storage.sql);
    let ends = 0;
    let deaths = 0;
    let before = [0, 0];
    for (let round = 0; round < 24; round++) {
      // An account that restarts has the last batch as it was stored, and does not know of its answer.
      const measures = new SentMeasures(storage, "account", async (batch) => {
        const adding = stub().addBatch(batch);
        if (round % 4 === 0) return adding;
        if (round % 4 === 1) await adding;
        const settled = adding.catch(() => undefined);
        if (round % 4 === 2) await scheduler.wait(round % 3);
        await kill(stub());
        await settled;
        deaths += 1;
        throw new Error("the answer was lost");
      });
      for (let n = 0; n <= round % 3; n++) addUsage(storage.sql, DAY, ENDED, 1);
      ends += 1 + (round % 3);
      await measures.publish(DAY).catch(() => {});
      const after = await counted();
      for (const [place, value] of after.entries()) {
        expect(value).toBeGreaterThanOrEqual(before[place] ?? 0);
        expect(value).toBeLessThanOrEqual(ends);
      }
      before = after;
    }
    expect(deaths).toBeGreaterThan(10);
    await new SentMeasures(storage, "account", (batch) => stub().addBatch(batch)).publish(DAY);
    return ends;
  });
  await kill(stub());
  expect(await counted()).toEqual([made, made]);
});

test("counts in memory are sent once: those under way when the metrics object dies are lost at most", async () => {
  const operator = await newOperatorUser();
  const collector = await newClient(operator.username, { scopes: ["metrics"] });
  const route = `GET /${unique("route")}`;
  const name = `auspex_http_requests_total{route="${route}",status="200"}`;
  const counted = async () => (await readMetrics(collector)).get(name) ?? 0;
  const counts = new Counts(env);
  let [before, made, lost] = [0, 0, 0];
  for (let round = 0; round < 6; round++) {
    const sending: Promise<void>[] = [];
    const add = () => counts.add("requests", { route }, "200", 1, (one) => sending.push(one));
    add();
    advance(21);
    add();
    made += 2;
    // The last of them sends what was counted; the first waits for a time of its own.
    if (round % 2 === 1) {
      await kill(metricsObject());
      lost += 2;
    }
    await sending.at(-1);
    const after = await counted();
    expect(after).toBeGreaterThanOrEqual(Math.max(before, made - lost));
    expect(after).toBeLessThanOrEqual(made);
    before = after;
  }
});

test("the events of a pool stay counted when the pool dies, and its gauges are there again", async () => {
  const operator = await newOperatorUser();
  const collector = await newClient(operator.username, { scopes: ["metrics"] });
  const world = await newWorld();
  const pool = `pool="${world.hardware}"`;
  const labels = { pool: world.hardware };
  await world.waiting();
  await lineOf(world, 1);
  await metricsObject().add([{ family: "pool", labels, counts: { cold_starts: 3 } }]);
  await restart(world);
  const series = await readMetrics(collector);
  expect(series.get(`auspex_cold_starts_total{${pool}}`)).toBe(3);
  expect(sum(among(series, "auspex_pool_waiting", pool))).toBe(1);
});
