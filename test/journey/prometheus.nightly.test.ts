/** Debian's Prometheus, which scrapes a deployment and a runner and evaluates the rules of the guide. */
import { execFile, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { z } from "zod";
import { ROOT } from "../../src/dev/bundle.ts";
import { freePort } from "../processes/free-port.ts";
import { USERNAME } from "./support/access.ts";
import { endOf } from "./support/end.ts";
import { World } from "./support/world.ts";

/** Gauges are at most 10 s old, and a pool notices within seconds that a killed runner polls no more. */
const SEEN = { timeout: 60_000, interval: 500 };

const guide = readFileSync(join(ROOT, "src/dashboard/guides/monitoring.md"), "utf8");
const rules = /### Rules for Prometheus\s+```yaml\n([^`]+)```/.exec(guide)?.[1] ?? "";

let world: World;
let folder: string;
let url: string;
const over = new AbortController();

const write = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "auspex-prometheus-"));
  world = await World.open();
  const [port, metricsPort] = [await freePort(), await freePort()];
  const metrics = `127.0.0.1:${metricsPort}`;
  await world.runner("one", { environment: { AUSPEX_METRICS_ADDRESS: metrics } });
  // The rules wait for minutes, and this test does not.
  write("rules.yml", rules.replaceAll(/for: \d+m/g, "for: 1s"));
  await world.operator.fetch("PUT", `/operator/users/${USERNAME}/operator`, { body: {} });
  const created = await world.operator.call(
    z.object({ token: z.string() }),
    "POST",
    `/operator/users/${USERNAME}/tokens`,
    { body: { name: "prometheus", scopes: ["metrics"] } },
  );
  const token = write("token", created.token);
  const config = write(
    "prometheus.yml",
    `global: { scrape_interval: 1s, evaluation_interval: 1s }
rule_files: [rules.yml]
scrape_configs:
  - job_name: auspex
    authorization: { credentials_file: "${token}" }
    static_configs: [{ targets: ["${new URL(world.access.url).host}"] }]
  - job_name: auspex-runners
    static_configs: [{ targets: ["${metrics}"] }]
`,
  );
  url = `http://127.0.0.1:${port}`;
  spawn(
    "prometheus",
    [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(folder, "data")}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: "ignore", signal: over.signal },
  ).on("error", () => {});
});

afterAll(async () => {
  over.abort();
  await world.close();
  rmSync(folder, { recursive: true, force: true });
});

const sample = z.object({
  metric: z.record(z.string(), z.string()),
  value: z.tuple([z.number(), z.string()]),
});
const queryResponse = z.object({ data: z.object({ result: z.array(sample) }) });
const alertsResponse = z.object({
  data: z.object({
    alerts: z.array(z.object({ labels: z.record(z.string(), z.string()), state: z.string() })),
  }),
});

const targetsResponse = z.object({
  data: z.object({
    activeTargets: z.array(z.object({ health: z.string(), lastError: z.string() })),
  }),
});

async function read<Body>(schema: z.ZodType<Body>, path: string): Promise<Body> {
  return schema.parse(await (await fetch(`${url}/api/v1/${path}`)).json());
}

async function query(expression: string): Promise<number[]> {
  const path = `query?query=${encodeURIComponent(expression)}`;
  const { data } = await read(queryResponse, path);
  return data.result.map(({ value }) => Number(value[1]));
}

/** Returns why each target could not be read, or null. */
const errors = async () => {
  const { data } = await read(targetsResponse, "targets");
  return data.activeTargets.map(({ health, lastError }) => (health === "up" ? null : lastError));
};

const firing = async () => {
  const { data } = await read(alertsResponse, "alerts");
  return data.alerts.flatMap(({ labels, state }) => (state === "firing" ? [labels.alertname] : []));
};

it("promtool accepts the rules of the guide", async () => {
  const file = write("as-written.yml", rules);
  const { stdout } = await promisify(execFile)("promtool", ["check", "rules", file]);
  expect(stdout).toMatch(/SUCCESS: \d+ rules found/);
});

it("Prometheus reads the deployment and the runner, and an alert fires for a killed runner", {
  timeout: 150_000,
}, async () => {
  await vi.waitFor(async () => expect(await errors()).toEqual([null, null]), SEEN);
  await endOf(world, await world.create("hello", {}), "succeeded");
  await vi.waitFor(
    async () => expect(await query('auspex_runners{state="ready"}')).toContain(1),
    SEEN,
  );
  expect(await query('{__name__=~"auspex_runner_.+",job="auspex-runners"}')).not.toEqual([]);
  expect(await firing()).toEqual([]);
  const runner = await world.runner("two");
  await vi.waitFor(
    async () => expect(await query('auspex_runners{state="ready"}')).toContain(2),
    SEEN,
  );
  await runner.kill();
  await vi.waitFor(async () => expect(await firing()).toContain("AuspexRunnerLost"), SEEN);
  expect(await firing()).not.toContain("AuspexDown");
});
