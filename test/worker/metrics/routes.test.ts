/** Requests in the metrics of the deployment: each route has a series, whoever asks for which first. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test } from "vitest";
import { app } from "../../../src/app.ts";
import { createDashboard } from "../../../src/dashboard/app.tsx";
import type { CountedRow } from "../../../src/objects/stubs/metrics.ts";
import { eventually } from "../support/eventually.ts";
import { among, readMetrics, seriesOf } from "../support/metrics.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newClient, newOperatorUser, newUser } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

test("every route of the API and the dashboard has a series of its own, and room is left", async () => {
  const all = [...app.routes, ...createDashboard(app).routes];
  const own = all.filter(({ path }) => !path.endsWith("*"));
  const routes = new Set(["none", ...own.map(({ method, path }) => `${method} ${path}`)]);
  const metrics = env.METRICS.get(env.METRICS.newUniqueId());
  const more = Array.from({ length: 50 }, (_, n) => `GET /later/${n}`);
  await metrics.add(
    [...routes, ...more].map((route): CountedRow => {
      return { family: "requests", labels: { route }, counts: { "200": 1 } };
    }),
  );
  const series = seriesOf(await metrics.exposition());
  expect(among(series, 'route="other"')).toEqual({});
  expect(Object.keys(among(series, "auspex_http_requests_total"))).toHaveLength(routes.size + 50);
});

test("a request counts under the method of its route, and not under one that the caller chooses", async () => {
  const operator = await newOperatorUser();
  const collector = await newClient(operator.username, { scopes: ["metrics"] });
  const { client } = await newUser();
  await client.fetch("/replicate/v1/trainings", { method: "PURGE" });
  await client.fetch("/replicate/v1/account", { method: "HEAD" });
  advance(300);
  await client.fetch("/v1/user");
  await eventually(async () => {
    const series = await readMetrics(collector);
    const requests = (route: string) => among(series, `_requests_total{route="${route}`);
    expect(Object.values(requests('GET /replicate/v1/account"'))[0]).toBeGreaterThan(0);
    expect(Object.values(requests('ALL /replicate/v1/trainings"'))[0]).toBeGreaterThan(0);
    expect({ ...requests("HEAD "), ...requests("PURGE ") }).toEqual({});
  });
});
