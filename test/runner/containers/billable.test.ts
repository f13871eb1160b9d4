/** The time that a run's account pays for: its share of the container, and a setup that the run has caused. */
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, test, vi } from "vitest";
import { Container } from "../../../runner/src/containers/container.ts";
import { Shares } from "../../../runner/src/containers/usage.ts";
import { external } from "../../../src/run/failure.ts";
import { signals } from "../support/containers.ts";
import { type World, world } from "../support/fake-containers.ts";

test("a moment of a container is divided equally among the runs in it", () => {
  const shares = new Shares();
  const first = shares.join(1_000);
  const second = shares.join(1_600);
  expect(first(2_000)).toBe(600 + 200);
  expect(second(2_300)).toBe(200 + 300);
  expect(shares.join(9_000)(9_050)).toBe(50);
});

test("the shares of all runs add up to the time in which at least one run was there", () => {
  const step = fc.record({ ms: fc.nat(100_000), joins: fc.boolean(), which: fc.nat() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const shares = new Shares();
      const runs: ((now: number) => number)[] = [];
      let [now, used, sum] = [0, 0, 0];
      const leaveOne = (which: number) => {
        const [run] = runs.splice(which % runs.length, 1);
        const share = run?.(now) ?? 0;
        expect(share).toBeGreaterThanOrEqual(0);
        sum += share;
      };
      for (const { ms, joins, which } of steps) {
        now += ms;
        if (runs.length > 0) used += ms;
        if (joins || runs.length === 0) runs.push(shares.join(now));
        else leaveOne(which);
      }
      while (runs.length > 0) leaveOne(0);
      expect(sum).toBeCloseTo(used, 5);
    }),
  );
});

describe("a run in a container", () => {
  let w: World;
  let now = 0;
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    now = 0;
    vi.spyOn(performance, "now").mockImplementation(() => now);
    w = world(2);
  });
  afterEach(async () => {
    await w.close();
    vi.restoreAllMocks();
  });

  const limits = { max_concurrency: 2 };

  it("a run pays for the setup that it has caused, and a run that waits for the same container does not", async () => {
    const ready = w.load();
    const first = w.run("a", { limits });
    await vi.waitFor(() => expect(w.started).toHaveLength(1));
    now += 1_000;
    const second = w.run("a", { limits });
    now += 3_000;
    ready();
    await w.running(2);
    now += 500;
    w.runs[0]?.end();
    expect((await first.finish).billable).toEqual({ setup_seconds: 4, run_seconds: 0.25 });
    now += 500;
    w.runs[1]?.end();
    expect((await second.finish).billable).toEqual({ setup_seconds: 0, run_seconds: 0.75 });
    const third = w.run("a", { limits });
    await w.running(3);
    now += 2_000;
    w.runs[2]?.end();
    expect((await third.finish).billable).toEqual({ setup_seconds: 0, run_seconds: 2 });
  });

  it("a run that is canceled during the setup that it has caused pays for the setup so far", async () => {
    w.load();
    const stop = signals();
    const first = w.run("a", { limits }, stop);
    await vi.waitFor(() => expect(w.started).toHaveLength(1));
    now += 1_500;
    stop.abortCancel();
    const billable = { setup_seconds: 1.5, run_seconds: 0 };
    expect(await first.finish).toEqual({ status: "canceled", output: "none", billable });
  });

  it("a run that is canceled in its container pays for its time until then", async () => {
    const stop = signals();
    const run = w.run("a", {}, stop);
    await w.running(1);
    now += 700;
    stop.abortCancel();
    const { status, billable } = await run.finish;
    expect({ status, run_seconds: billable?.run_seconds }).toEqual({
      status: "canceled",
      run_seconds: 0.7,
    });
  });

  it("a setup that the model fails is paid by the run that has caused it alone", async () => {
    w.load();
    const first = w.run("a", { limits });
    const second = w.run("a", { limits });
    await vi.waitFor(() => expect(w.started).toHaveLength(1));
    now += 2_000;
    w.started[0]?.exit("exited with code 1");
    const billable = { setup_seconds: 2, run_seconds: 0 };
    const error = expect.objectContaining({ source: "external" });
    expect(await first.finish).toMatchObject({ status: "failed", error, billable });
    expect((await second.finish).billable).toEqual({ setup_seconds: 0, run_seconds: 0 });
  });

  it("a setup is nobody's if the job that it was for is given up, or has another attempt", async () => {
    const { found } = w.reserve("a");
    if (!(found instanceof Container)) throw new Error("no reservation");
    await vi.waitFor(() => expect(w.pool.states()).toMatchObject([{ phase: "ready" }]));
    w.pool.leave(found, 60);
    const run = w.run("a", { attempt: 2 });
    await w.running(1);
    now += 100;
    w.runs[0]?.end();
    expect((await run.finish).billable).toEqual({ setup_seconds: 0, run_seconds: 0.1 });
  });

  it("a run that a broken container did not accept pays for its time in the next one only", async () => {
    const before = w.run("a");
    await w.running(1);
    w.runs[0]?.end();
    await before.finish;
    const run = w.run("a");
    await w.running(2);
    now += 300;
    const finish = { status: "failed", output: "none", error: external("broken") } as const;
    w.runs[1]?.end({ finish, container: "retired", notAccepted: "refused" });
    await w.running(3);
    now += 200;
    w.runs[2]?.end();
    expect((await run.finish).billable?.run_seconds).toBe(0.2);
  });
});
