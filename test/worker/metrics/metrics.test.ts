/** GET /metrics: the deployment in numbers, as Prometheus reads them. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { among, readMetrics } from "../support/metrics.ts";
import { keepUp, rowOf } from "../support/objects.ts";
import { statusOf } from "../support/short-runs.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newClient, newOperatorUser, newUser, newWorld, operator } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

async function newCollector() {
  const { username } = await newOperatorUser();
  return newClient(username, { scopes: ["metrics"] });
}

test("the end of a prediction is in counters and histograms once its account has reported", async () => {
  const collector = await newCollector();
  const world = await newWorld();
  const { id, channel } = await world.begun();
  advance(3);
  await channel.report(
    [
      { event: "output", data: "hi" },
      { event: "metrics", data: { input_tokens: 7, output_tokens: 3 } },
    ],
    { status: "succeeded", output: "value", execution_seconds: 2.5 },
  );
  await eventually(async () => expect((await rowOf(id))?.status).toBe("succeeded"));
  advance(61);
  await keepUp(world.user_id);
  const series = await readMetrics(collector);
  const model = `model="${world.model}"`;
  expect(among(series, "auspex_predictions_total", model)).toEqual({
    [`auspex_predictions_total{${model},version="1",hardware="${world.hardware}",status="succeeded",error_source=""}`]: 1,
  });
  const run = among(series, "auspex_prediction_run_seconds", model);
  const bucket = (le: string) =>
    run[`auspex_prediction_run_seconds_bucket{${model},hardware="${world.hardware}",le="${le}"}`];
  expect([bucket("1.28"), bucket("2.56"), bucket("+Inf")]).toEqual([0, 1, 1]);
  expect(run[`auspex_prediction_run_seconds_sum{${model},hardware="${world.hardware}"}`]).toBe(2.5);
  expect(among(series, "auspex_prediction_first_output_seconds_count", model)).toEqual({
    [`auspex_prediction_first_output_seconds_count{${model},hardware="${world.hardware}"}`]: 1,
  });
  expect(Object.values(among(series, "auspex_tokens_total", model, 'type="input"'))).toEqual([7]);

  // A second look of the account adds nothing, and a restart of the metrics object loses nothing.
  advance(61);
  await keepUp(world.user_id);
  const again = await readMetrics(collector);
  expect(among(again, "auspex_predictions_total", model)).toEqual(
    among(series, "auspex_predictions_total", model),
  );
});

test("the line and the runners of a pool are in the gauges", async () => {
  const collector = await newCollector();
  const world = await newWorld();
  await world.waiting();
  await eventually(async () => expect((await statusOf(world)).waiting).toBe(1));
  advance(5);
  const series = await readMetrics(collector);
  const pool = `pool="${world.hardware}"`;
  expect(among(series, "auspex_pool_waiting", pool)).toEqual({
    [`auspex_pool_waiting{${pool},class="${world.hardware}",priority="normal"}`]: 1,
  });
  expect(Object.values(among(series, "auspex_pool_oldest_wait_seconds", pool))).toEqual([5]);
  await world.runner(2).then((runner) => runner.work());
  const later = await readMetrics(collector);
  expect(among(later, "auspex_pool_waiting", pool)).toEqual({});
  expect(among(later, "auspex_slots", pool)).toEqual({
    [`auspex_slots{${pool},state="used"}`]: 1,
    [`auspex_slots{${pool},state="free"}`]: 1,
  });
});

test("the version of the deployment is in a series of its own", async () => {
  const series = await readMetrics(await newCollector());
  const [name = ""] = Object.keys(among(series, "auspex_build_info"));
  expect(name).toMatch(/{version="\d+\.\d+\.\d+",runner_version="\d+\.\d+\.\d+\+\w+"}$/);
  expect(series.get(name)).toBe(1);
});

test("requests count by route and status", async () => {
  const collector = await newCollector();
  const { client } = await newUser();
  await client.fetch("/v1/predictions/01f00000-0000-7000-8000-000000000000");
  // The first request after 20 s sends what was counted; tests before this one have moved the clock, too.
  advance(300);
  await client.fetch("/v1/user");
  await eventually(async () => {
    const series = await readMetrics(collector);
    const route = 'route="GET /v1/predictions/:prediction_id",status="404"';
    expect(series.get(`auspex_http_requests_total{${route}}`)).toBeGreaterThan(0);
  });
});

test("metrics are for operators, with a token that has the scope", async () => {
  const { username, client } = await newUser();
  const plain = await newOperatorUser();
  const narrow = await newClient(plain.username, { scopes: ["read"] });
  expect((await client.fetch("/metrics")).status).toBe(403);
  expect((await narrow.fetch("/metrics")).status).toBe(403);
  expect((await plain.client.fetch("/metrics")).headers.get("content-type")).toContain(
    "openmetrics",
  );
  await expect(newClient(username, { scopes: ["metrics"] })).rejects.toThrow("operator");
});

test("a token with the scope metrics ends with its user's rights as operator, within 10 seconds", async () => {
  const { username } = await newOperatorUser();
  const collector = await newClient(username, { scopes: ["metrics"] });
  expect((await collector.fetch("/metrics")).status).toBe(200);
  await operator.ok("DELETE", `/v1/operator/users/${username}/operator`);
  advance(11);
  expect((await collector.fetch("/metrics")).status).toBe(403);
});
