/** Batches of counts between accounts and the metrics object, whose answers are lost at random. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { SentMeasures } from "../../../src/objects/account/measures.ts";
import { createTables } from "../../../src/objects/account/tables.ts";
import { addUsage, type EndedRow } from "../../../src/objects/account/usage.ts";
import type { MetricsObject } from "../../../src/objects/metrics/object.ts";
import type { CountedRow, NumberedBatch } from "../../../src/objects/stubs/metrics.ts";
import { among, seriesOf } from "../support/metrics.ts";

const ended = (model: string, version: number, name = model): EndedRow => ({
  ...{ updated_at: 0, model_id: model, model_owner: "ada", model_name: name },
  ...{ version_number: version, token_id: "", token_name: "", maker: "", created_by: null },
  ...{ deployment_id: null, deployment: null, release: null },
  ...{ hardware: "gpu", status: "succeeded", setup_time: null, execution_time: 1 },
  ...{ metrics: null, cost: 0, measures: { succeeded: 1, "run:sum": 1_000, "run:7": 1 } },
});

/** Numbers from 0 to 1 that are the same in every run. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

test("each end counts once, whichever batches or answers are lost, and whatever restarts or is renamed", async () => {
  for (let seed = 1; seed <= 12; seed++) {
    const next = random(seed);
    const id = env.METRICS.newUniqueId();
    const account = env.ACCOUNT.get(env.ACCOUNT.newUniqueId());
    const made = await runInDurableObject(account, async (_, { storage }) => {
      createTables(storage.sql);
      const metrics = env.METRICS.get(id);
      let isLossy = true;
      const send = async (batch: NumberedBatch) => {
        if (isLossy && next() < 0.2) throw new Error("the call was lost");
        await metrics.addBatch(batch);
        if (isLossy && next() < 0.3) throw new Error("the answer was lost");
      };
      const restarted = () => new SentMeasures(storage, `account-${seed}`, send);
      let measures = restarted();
      let day = 1;
      let ends = 0;
      const names: Record<string, string> = { story: "story", poet: "poet" };
      const today = () => `2026-11-${String(day).padStart(2, "0")}`;
      for (let step = 0; step < 80; step++) {
        const action = next();
        if (action < 0.6) {
          const model = next() < 0.5 ? "story" : "poet";
          const version = 1 + Math.floor(next() * 3);
          addUsage(storage.sql, today(), ended(model, version, names[model]), 1);
          ends += 1;
        } else if (action < 0.9) await measures.publish(today()).catch(() => {});
        else if (action < 0.94) measures = restarted();
        else if (action < 0.97) names.story = `story-${step}`;
        else day = Math.min(28, day + 1);
      }
      isLossy = false;
      await measures.publish(today());
      return ends;
    });
    expect(await storedTotal(env.METRICS.get(id))).toBe(made);
  }
});

test("a model that is renamed after the answer to a batch was lost counts once, under its old name", async () => {
  const id = env.METRICS.newUniqueId();
  const account = env.ACCOUNT.get(env.ACCOUNT.newUniqueId());
  await runInDurableObject(account, async (_, { storage }) => {
    createTables(storage.sql);
    const metrics = env.METRICS.get(id);
    let isLost = true;
    const restarted = () =>
      new SentMeasures(storage, "account", async (batch) => {
        await metrics.addBatch(batch);
        if (isLost) throw new Error("the answer was lost");
      });
    const day = "2026-11-29";
    addUsage(storage.sql, day, ended("story", 1), 1);
    await expect(restarted().publish(day)).rejects.toThrow("lost");
    addUsage(storage.sql, day, ended("story", 1, "saga"), 1);
    isLost = false;
    await restarted().publish(day);
  });
  const series = seriesOf(await env.METRICS.get(id).exposition());
  const of = (name: string) => Object.values(among(series, "auspex_predictions_total", name));
  expect([of("ada/story"), of("ada/saga")]).toEqual([[1], [1]]);
});

test("ends of more versions than an account keeps apart count once, on the next days too", async () => {
  const id = env.METRICS.newUniqueId();
  const account = env.ACCOUNT.get(env.ACCOUNT.newUniqueId());
  await runInDurableObject(account, async (_, { storage }) => {
    createTables(storage.sql);
    const metrics = env.METRICS.get(id);
    const measures = new SentMeasures(storage, "account", (batch) => metrics.addBatch(batch));
    for (let n = 0; n < 4; n++) {
      const [dayBefore, day] = [`2026-11-${26 + n}`, `2026-11-${27 + n}`];
      for (let version = 1; version <= 450; version++)
        addUsage(storage.sql, day, ended("story", n * 300 + version), 1);
      await measures.publish(dayBefore);
      // Versions that come before others in the order of the table push none of those out.
      for (let version = 1; version <= 20; version++)
        addUsage(storage.sql, day, ended("a-story", n * 20 + version), 1);
      await measures.publish(day);
    }
  });
  expect(await storedTotal(env.METRICS.get(id))).toBe(4 * 470);
});

test("an end counts once if an account publishes while an earlier batch is under way", async () => {
  const id = env.METRICS.newUniqueId();
  const account = env.ACCOUNT.get(env.ACCOUNT.newUniqueId());
  await runInDurableObject(account, async (_, { storage }) => {
    createTables(storage.sql);
    const metrics = env.METRICS.get(id);
    const first = Promise.withResolvers<void>();
    let sent = 0;
    const measures = new SentMeasures(storage, "account", async (batch) => {
      sent += 1;
      const isFirst = sent === 1;
      await metrics.addBatch(batch);
      // The answer to the first batch comes last.
      if (isFirst) await first.promise;
    });
    const day = "2026-11-29";
    addUsage(storage.sql, day, ended("story", 1), 1);
    const publishing = measures.publish(day);
    addUsage(storage.sql, day, ended("story", 1), 1);
    const again = measures.publish(day);
    await Promise.race([again, scheduler.wait(200)]);
    first.resolve();
    await Promise.all([publishing, again]);
    addUsage(storage.sql, day, ended("story", 1), 1);
    await measures.publish(day);
  });
  expect(await storedTotal(env.METRICS.get(id))).toBe(3);
});

test("models beyond the first 200 count together, and so do further versions, routes and pools", async () => {
  const metrics = env.METRICS.get(env.METRICS.newUniqueId());
  const row = (model: string, version = "1"): CountedRow => ({
    family: "predictions",
    labels: { model, version, hardware: "gpu" },
    counts: { succeeded: 1, "run:sum": 5, "run:0": 1 },
  });
  await metrics.add(Array.from({ length: 260 }, (_, n) => row(`user${n % 10}/m${n}`)));
  await metrics.add(Array.from({ length: 1_200 }, (_, n) => row("user1/m1", String(n + 2))));
  await metrics.add(
    Array.from({ length: 900 }, (_, n) => ({
      family: "requests",
      labels: { route: `GET /${n}` },
      counts: { "200": 1 },
    })),
  );
  const series = seriesOf(await metrics.exposition());
  expect(series.size).toBeLessThan(20_000);
  const others = among(series, "auspex_predictions_total", 'model="other"');
  // 60 models, and the 400 versions beyond the 1,000 series of a family.
  expect(Object.values(others).reduce((sum, value) => sum + value, 0)).toBeGreaterThan(60);
  expect(await storedTotal(metrics)).toBe(1_460);
  expect(series.get('auspex_http_requests_total{route="other",status="200"}')).toBe(100);
});

test("an account with any number of models leaves places for those of others", async () => {
  const metrics = env.METRICS.get(env.METRICS.newUniqueId());
  const row = (model: string): CountedRow => ({
    family: "predictions",
    labels: { model, version: "1", hardware: "gpu" },
    counts: { succeeded: 1 },
  });
  await metrics.add(Array.from({ length: 150 }, (_, n) => row(`mallory/m${n}`)));
  await metrics.add([row("ada/story")]);
  const series = seriesOf(await metrics.exposition());
  expect(Object.keys(among(series, "auspex_predictions_total", "mallory/"))).toHaveLength(100);
  expect(Object.keys(among(series, "auspex_predictions_total", "ada/story"))).toHaveLength(1);
});

/** Returns how many ends the object has stored. */
const storedTotal = (metrics: DurableObjectStub<MetricsObject>): Promise<number> =>
  runInDurableObject(metrics, (_, { storage }) => {
    const rows = storage.sql.exec<{ n: number }>(
      "SELECT total(counts ->> 'succeeded') AS n FROM series WHERE family = 'predictions'",
    );
    return rows.one().n;
  });
