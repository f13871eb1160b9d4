/** The use of GPUs over time, as the page of the fleet's metrics draws it. */
import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { newOperator } from "../support/dashboard-users.ts";
import { metricsObject } from "../support/metrics.ts";
import { FakeRunner } from "../support/runner.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newWorld, unique } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

test("the mean use of a pool's GPUs is in a chart, and a time without readings is a gap", async () => {
  vi.setSystemTime("2036-11-29T12:00:00Z");
  const world = await newWorld();
  const runner = await FakeRunner.begin(world.runnerToken, world.hardware, unique("box"));
  const device = { name: "L40S", memory_gb: 45, holder: null, memory_total_bytes: 4e9 };
  const metrics = env.METRICS.get(env.METRICS.newUniqueId());
  const read = async (utilization: number) => {
    const devices = [
      { ...device, id: "GPU-1", utilization, memory_used_bytes: 4e9 },
      { ...device, id: "GPU-2", utilization: 0, memory_used_bytes: 0 },
      { ...device, id: "GPU-3" },
    ];
    void runner.claim({ devices });
    await runner.tellState({ devices });
    await metrics.add([{ family: "pool", labels: { pool: "x" }, counts: { evictions: 1 } }]);
    advance(300);
    await runDurableObjectAlarm(metrics);
  };
  await read(0.9);
  await read(0.5);
  const pools = await metrics.gpuHistory("1h");
  const points = pools.find(({ pool }) => pool === world.hardware)?.points ?? [];
  const known = points.filter(({ busy }) => busy !== null);
  expect(points).toHaveLength(12);
  expect(known.map(({ busy }) => busy)).toEqual([0.45, 0.25]);
  expect(known.map(({ memory }) => memory)).toEqual([0.5, 0.5]);
  const [day] = (await metrics.gpuHistory("24h"))
    .filter(({ pool }) => pool === world.hardware)
    .flatMap((one) => one.points.filter(({ busy }) => busy !== null));
  expect(day?.busy).toBeCloseTo(0.35);
});

test("the page of the fleet's metrics says how busy the GPUs of each pool were", async () => {
  const world = await newWorld();
  const { visitor } = await newOperator();
  const runner = await FakeRunner.begin(world.runnerToken, world.hardware, unique("box"));
  const devices = [{ id: "GPU-1", name: "L40S", memory_gb: 45, holder: null, utilization: 0.9 }];
  void runner.claim({ devices });
  await runner.tellState({ devices });
  // Counts set the alarm.
  await metricsObject().add([
    { family: "pool", labels: { pool: world.hardware }, counts: { evictions: 1 } },
  ]);
  await runDurableObjectAlarm(metricsObject());
  for (const span of ["1h", "24h", "7d", "90d"]) {
    const { html } = await visitor.look(`/fleet/metrics?span=${span}`);
    expect(html).toContain(`GPUs of ${world.hardware}`);
    expect(html).toContain("busy 90 % of the time");
  }
});
