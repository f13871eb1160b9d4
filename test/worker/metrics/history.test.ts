/** The history of metrics: sums that the metrics object stores every five minutes. */
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { advance, startClock, stopClock } from "../support/time.ts";

beforeEach(() => {
  stopClock();
  vi.setSystemTime("2036-11-29T12:00:00Z");
});
afterEach(startClock);

const HOUR = 3_600;

test("runs are in the charts of their model and of the deployment, at any age up to 90 days", async () => {
  const metrics = env.METRICS.get(env.METRICS.newUniqueId());
  const run = async (model: string) => {
    await metrics.add([
      {
        family: "predictions",
        labels: { model, version: "1", hardware: "gpu" },
        counts: { succeeded: 1, "total:sum": 100, "total:4": 1 },
      },
    ]);
    advance(300);
    await runDurableObjectAlarm(metrics);
  };
  const total = async (model: string | null, span: "1h" | "24h" | "7d" | "90d") =>
    (await metrics.history(model, span)).reduce((sum, point) => sum + point.succeeded, 0);
  for (let n = 0; n < 6; n++) await run("ada/story");
  await run("ada/poet");
  expect(await total("ada/story", "1h")).toBe(6);
  expect(await total(null, "1h")).toBe(7);
  for (let day = 0; day < 12; day++) {
    advance(24 * HOUR);
    await run("ada/poet");
  }
  expect(await total("ada/poet", "24h")).toBe(1);
  expect(await total("ada/poet", "7d")).toBe(7);
  expect(await total("ada/story", "7d")).toBe(0);
  expect(await total("ada/story", "90d")).toBe(6);
  expect(await total(null, "90d")).toBe(19);
  // The alarm keeps only the last sample of a day that is over a week ago.
  const left = await runInDurableObject(
    metrics,
    (_, { storage }) =>
      storage.sql.exec<{ n: number }>("SELECT count(*) AS n FROM samples WHERE model = ''").one().n,
  );
  expect(left).toBeLessThan(14);
});
