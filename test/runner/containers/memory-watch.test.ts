/** The memory that containers use: it is part of the state, and its changes cause no report. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { MemoryWatch } from "../../../runner/src/containers/memory-watch.ts";
import type { RunningContainer } from "../../../runner/src/engines/engine.ts";
import { type World, world } from "../support/fake-containers.ts";

const INTERVAL_MS = 1_000;

let used: Map<RunningContainer, number>;
let watch: MemoryWatch;
let w: World;
let measured: number;

beforeEach(() => {
  vi.useFakeTimers();
  used = new Map();
  measured = 0;
  const memory = async () => {
    measured += 1;
    return new Map(used);
  };
  watch = new MemoryWatch({ memory }, INTERVAL_MS);
  w = world(2);
  w.parts.memory = watch;
  watch.start();
});

afterEach(async () => {
  watch.stop();
  await w.close();
});

const told = () => w.pool.states().map(({ memory_bytes }) => memory_bytes);
const nextMeasurement = () => vi.advanceTimersByTimeAsync(INTERVAL_MS);

test("the memory has its last measured value, and is unknown before that and after a failed measurement", async () => {
  w.run("model");
  await w.running(1);
  const [container] = w.started;
  if (!container) return expect.unreachable();
  used.set(container, 3e9);
  expect(w.pool.states()[0]).not.toHaveProperty("memory_bytes");
  await nextMeasurement();
  expect(told()).toEqual([3e9]);
  used.clear();
  await nextMeasurement();
  expect(told()).toEqual([undefined]);
});

test.each([-1, 0.5, Number.NaN, 2 ** 63])(
  "the memory is unknown if it is measured as %d",
  async (bytes) => {
    w.run("model");
    await w.running(1);
    for (const one of w.started) used.set(one, bytes);
    await nextMeasurement();
    expect(told()).toEqual([undefined]);
  },
);

test("the memory is measured once in an interval, and causes no report", async () => {
  w.run("model");
  await w.running(1);
  const changes = w.told.length;
  for (let n = 1; n <= 3; n++) {
    for (const one of w.started) used.set(one, n);
    await nextMeasurement();
    for (let again = 0; again < 5; again++) expect(told()).toEqual([n]);
  }
  expect(measured).toBe(3);
  expect(w.told).toHaveLength(changes);
});
