/** Containers whose run fails, does not stop, or is not accepted. */
import { afterEach, beforeEach, describe, expect, it, test, vi } from "vitest";
import { unlogged } from "../../../runner/src/containers/run-job.ts";
import type { Outcome } from "../../../runner/src/interfaces/interface.ts";
import { external } from "../../../src/run/failure.ts";
import { signals } from "../support/containers.ts";
import { type World, world } from "../support/fake-containers.ts";

const failure: Outcome["finish"] = { status: "failed", output: "none" };

let w: World;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  w = world(2);
});
afterEach(() => w.close());

describe("a container", () => {
  it("a container outlives each ended run, so that its other runs go on", async () => {
    const limits = { max_concurrency: 2 };
    const staying = w.run("a", { limits });
    const ends = [
      () => w.runs[1]?.fail(external("its file cannot be had")),
      () => w.runs[2]?.end(),
    ];
    for (const [index, end] of ends.entries()) {
      const stop = signals();
      const leaving = w.run("a", { limits }, stop);
      await w.running(index + 2);
      end();
      await leaving.finish;
      // A job aborts `abandon` once it has reported its end.
      stop.abortAbandon();
    }
    await vi.advanceTimersByTimeAsync(1_000);
    w.runs[0]?.end();
    expect(await staying.finish).toMatchObject({ status: "succeeded" });
    expect(w.started).toHaveLength(1);
  });

  it("a container is gone after a crash, and the next job gets a new one", async () => {
    const { finish } = w.run("a");
    await w.running(1);
    w.started[0]?.exit("exited with code 1");
    expect(await finish).toMatchObject({ status: "failed" });
    void w.run("a");
    await w.running(2);
    expect(w.started).toHaveLength(2);
  });

  it("a container is given up after three failures in a row, and not after two and a success", async () => {
    const outcomes = [failure, failure, undefined, failure, failure, failure];
    for (const [index, finish] of outcomes.entries()) {
      const run = w.run("a");
      await w.running(index + 1);
      w.runs[index]?.end(finish ? { finish } : {});
      await run.finish;
      expect(w.started).toHaveLength(1);
    }
    await vi.waitFor(() => expect(w.pool.warm()).toEqual([]));
    void w.run("a");
    await w.running(7);
    expect(w.started).toHaveLength(2);
  });

  it("a failure that is not the container's fault neither counts against it nor resets the count", async () => {
    const excused = { finish: failure, notContainersFault: true };
    const failing = { finish: failure };
    const outcomes = [excused, excused, excused, failing, failing, excused, failing];
    for (const [index, outcome] of outcomes.entries()) {
      const run = w.run("a");
      await w.running(index + 1);
      w.runs[index]?.end(outcome);
      await run.finish;
      expect(w.started).toHaveLength(1);
    }
    await vi.waitFor(() => expect(w.pool.warm()).toEqual([]));
  });

  it("a container gets no new run while it is not known whether it outlives a failure", async () => {
    for (const [index, verdict] of (["kept", "retired"] as const).entries()) {
      const first = w.run("a", { limits: { max_concurrency: 2 } });
      await w.running(3 * index + 1);
      const told = Promise.withResolvers<"kept" | "retired">();
      w.runs[3 * index]?.end({ finish: failure, verdict: told.promise });
      // The caller receives the failure at once.
      await first.finish;
      expect(w.pool.warm()).toEqual([]);
      const next = [1, 2].map(() => w.run("a", { limits: { max_concurrency: 2 } }));
      await vi.advanceTimersByTimeAsync(1_000);
      expect(w.runs).toHaveLength(3 * index + 1);
      expect(w.started).toHaveLength(1);
      told.resolve(verdict);
      await w.running(3 * index + 3);
      expect(w.started).toHaveLength(index + 1);
      for (const run of w.runs.slice(3 * index + 1)) run.end();
      await Promise.all(next.map(({ finish }) => finish));
    }
    expect(await w.started[0]?.exited).toMatchObject({ description: "was stopped" });
  });

  it("a container makes room for another model while it is not known whether it outlives a failure", async () => {
    w = world(1);
    const first = w.run("a");
    await w.running(1);
    w.runs[0]?.end({ finish: failure, verdict: new Promise(() => {}) });
    await first.finish;
    void w.run("b");
    await w.running(2);
  });

  it("a container that refuses a run is left, and another one takes the run", async () => {
    const first = w.run("a");
    await w.running(1);
    w.runs[0]?.end();
    await first.finish;
    const refused = { finish: failure, container: "retired", notAccepted: "refused" } as const;
    const second = w.run("a");
    await w.running(2);
    w.runs[1]?.end(refused);
    await w.running(3);
    expect(w.started).toHaveLength(2);
    // A new container that refuses a run fails it, because the next would refuse it as well.
    w.runs[2]?.end(refused);
    expect(await second.finish).toMatchObject({ status: "failed" });
  });

  it("a container that is full with other runs fails the run, and one that is full without runs is left", async () => {
    const limits = { max_concurrency: 2 };
    const full = { finish: failure, container: "retired", notAccepted: "full" } as const;
    const [first, second] = [w.run("a", { limits }), w.run("a", { limits })];
    await w.running(2);
    w.runs[1]?.end(full);
    expect(await second.finish).toMatchObject({ status: "failed" });
    w.runs[0]?.end();
    await first.finish;
    const third = w.run("a", { limits });
    await w.running(3);
    w.runs[2]?.end();
    await third.finish;
    const last = w.run("a", { limits });
    await w.running(4);
    w.runs[3]?.end(full);
    await w.running(5);
    expect(w.started).toHaveLength(3);
    w.runs[4]?.end();
    expect(await last.finish).toMatchObject({ status: "succeeded" });
  });

  it("a container whose run did not stop gets no other runs and is killed once its others have ended", async () => {
    const limits = { max_concurrency: 3 };
    const [deaf, other] = [w.run("a", { limits }), w.run("a", { limits })];
    await w.running(2);
    w.runs[0]?.end({ container: "killed" });
    await deaf.finish;
    const late = w.run("a", { limits });
    await w.running(3);
    expect(w.started).toHaveLength(2);
    w.runs[1]?.end();
    expect(await other.finish).toMatchObject({ status: "succeeded" });
    expect(await w.started[0]?.exited).toMatchObject({ description: "was killed" });
    w.runs[2]?.end();
    await late.finish;
  });

  it("a container is killed when its only run did not stop", async () => {
    const { finish } = w.run("a");
    await w.running(1);
    w.runs[0]?.end({ container: "killed" });
    await finish;
    expect(await w.started[0]?.exited).toMatchObject({ description: "was killed" });
  });
});

test.each([
  ["nothing was logged", "a\nb", "", "a\nb\n"],
  ["some was", "a\nb\nc", "x\na\nb\n", "c\n"],
  ["all was, in other chunks", "a\nb\n", "a\r\nb", ""],
  ["its last line was not ended", "b\nc", "a\nb", "\nc\n"],
  ["nothing was printed", "", "a", ""],
])("the last output is found when %s", (_, printed, logged, expected) => {
  expect(unlogged(printed, logged)).toBe(expected);
});
