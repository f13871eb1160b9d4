/** The container that a job gets: a new one, a shared one, or one that it waits for. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { SetupProgress } from "../../../src/protocol/event.ts";
import { signals } from "../support/containers.ts";
import { type World, warmOf, world } from "../support/fake-containers.ts";

const CANCELED = expect.objectContaining({ status: "canceled", output: "none" });

let w: World;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  w = world(2);
});
afterEach(() => w.close());

describe("a container", () => {
  it("a container is started once for jobs that share it, and each job gets all of its setup events", async () => {
    const release = w.hold();
    const limits = { max_concurrency: 2 };
    const first = w.run("a", { limits });
    const second = w.run("a", { limits });
    await second.reporter.first("setup");
    release();
    await w.running(2);
    expect(w.started).toHaveLength(1);
    for (const { reporter } of [first, second]) {
      const phases = reporter.of("setup").map((data) => (data as SetupProgress).phase);
      expect(phases).toEqual(["pulling", "starting", "starting", "ready"]);
    }
    for (const run of w.runs) run.end();
    await Promise.all([first.finish, second.finish]);
  });

  it("a job gets a container of its own when the others have no room, or other variables", async () => {
    w = world(3);
    void w.run("a");
    void w.run("a");
    void w.run("a", { variables: { STYLE: "plain" } });
    await w.running(3);
    expect(w.started).toHaveLength(3);
    expect(w.pool.warm()).toEqual([]);
  });

  it("a job with another isolation key gets another container, though the image is the same", async () => {
    w = world(3);
    const limits = { max_concurrency: 2 };
    const keys = [
      { container: "ada", files: "f" },
      { container: "eve", files: "f" },
    ];
    for (const one of [...keys, ...keys]) void w.run("a", { limits, keys: one });
    await w.running(4);
    expect(w.started).toHaveLength(2);
  });

  it("a job waits for a container when all are busy", async () => {
    const busy = [w.run("a"), w.run("b")];
    await w.running(2);
    const stop = signals();
    const waiting = w.run("c");
    const canceled = w.run("d", {}, stop);
    stop.abortCancel();
    expect(await canceled.finish).toMatchObject({ status: "canceled" });
    w.runs[0]?.end();
    await busy[0]?.finish;
    await w.running(3);
    expect(waiting.reporter.events).not.toEqual([]);
  });

  it("a container is stopped when the only job that it was pulled for is canceled and no other comes", async () => {
    const release = w.hold();
    const stop = signals();
    const { reporter, finish } = w.run("a", {}, stop);
    await reporter.first("setup");
    stop.abortCancel();
    expect(await finish).toEqual(CANCELED);
    await vi.advanceTimersByTimeAsync(60_000);
    release();
    await vi.waitFor(() => expect(w.pool.states()).toEqual([]));
    expect(w.started).toEqual([]);
  });

  it("a container goes on loading after the cancel of its only job, for the next job", async () => {
    const ready = w.load();
    const stop = signals();
    const canceled = w.run("a", { limits: { idle_seconds: 0 } }, stop);
    await vi.waitFor(() => expect(w.started).toHaveLength(1));
    stop.abortCancel();
    expect(await canceled.finish).toEqual(CANCELED);
    expect(w.pool.states()).toMatchObject([
      { phase: "starting", users: 0, idle_ms: expect.any(Number) },
    ]);
    await vi.advanceTimersByTimeAsync(9_000);
    const next = w.run("a", { limits: { idle_seconds: 0 } });
    await vi.advanceTimersByTimeAsync(60_000);
    ready();
    await w.running(1);
    w.runs[0]?.end();
    expect(await next.finish).toMatchObject({ status: "succeeded" });
    expect(w.started).toHaveLength(1);
  });

  it("a container stops loading when its only job is abandoned, such as at the deadline of its setup", async () => {
    w.load();
    const stop = signals();
    const abandoned = w.run("a", { limits: { idle_seconds: 600 } }, stop);
    await vi.waitFor(() => expect(w.started).toHaveLength(1));
    stop.abortAbandon();
    expect(await abandoned.finish).toEqual(CANCELED);
    await vi.waitFor(() => expect(w.pool.states()).toEqual([]));
  });

  it("a container that loads for no job is stopped when another model needs its room", async () => {
    w.load();
    const stop = signals();
    const canceled = w.run("a", {}, stop);
    await vi.waitFor(() => expect(w.started).toHaveLength(1));
    stop.abortCancel();
    await canceled.finish;
    for (const other of ["b", "c"]) void w.run(other);
    await vi.waitFor(() => expect(w.started).toHaveLength(3));
    expect(w.pool.states()).toHaveLength(2);
  });
});

describe("fewer containers than jobs", () => {
  const limits = { max_concurrency: 4 };

  beforeEach(() => {
    w = world(1);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  });

  const end = async (run: number, { finish }: { finish: Promise<unknown> }) => {
    w.runs[run]?.end();
    await finish;
  };

  it("containers are shared, and another model's jobs wait until one falls idle", async () => {
    const first = [w.run("a", { limits }), w.run("a", { limits })];
    await w.running(2);
    const other = w.run("b", { limits });
    const third = w.run("a", { limits });
    await w.running(3);
    expect(w.started).toHaveLength(1);
    for (const [index, run] of [...first, third].entries()) await end(index, run);
    await w.running(4);
    expect(w.started.map(({ launch }) => launch.image.repository)).toEqual(["a", "b"]);
    await end(3, other);
  });

  it("containers are joined by no new job while one has waited for a minute", async () => {
    const first = w.run("a", { limits });
    await w.running(1);
    const other = w.run("b", { limits });
    await vi.advanceTimersByTimeAsync(61_000);
    const late = w.run("a", { limits });
    const stop = signals();
    const left = w.run("a", { limits }, stop);
    await vi.advanceTimersByTimeAsync(10);
    expect(w.runs).toHaveLength(1);
    stop.abortCancel();
    expect(await left.finish).toMatchObject({ status: "canceled" });
    await end(0, first);
    await w.running(2);
    expect(w.runs[1]?.container.launch.image.repository).toBe("b");
    await end(1, other);
    await w.running(3);
    expect(w.runs[2]?.container.launch.image.repository).toBe("a");
    await end(2, late);
  });

  it("containers are free for all jobs again when the one that waited has gone", async () => {
    const first = w.run("a", { limits });
    await w.running(1);
    const stop = signals();
    const other = w.run("b", { limits }, stop);
    await vi.advanceTimersByTimeAsync(61_000);
    const late = w.run("a", { limits });
    await vi.advanceTimersByTimeAsync(10);
    expect(w.runs).toHaveLength(1);
    stop.abortCancel();
    await other.finish;
    await w.running(2);
    expect(w.started).toHaveLength(1);
    await end(0, first);
    await end(1, late);
  });

  it("containers are given to waiting jobs in the order in which they came", async () => {
    const first = w.run("a");
    await w.running(1);
    const others = ["b", "c", "b"].map((name) => w.run(name));
    await end(0, first);
    for (const [index, run] of others.entries()) {
      await w.running(index + 2);
      await end(index + 1, run);
    }
    const order = w.runs.map(({ container }) => container.launch.image.repository);
    expect(order).toEqual(["a", "b", "c", "b"]);
  });
});

it("the pool reports the size of the image only to jobs that asked for it", async () => {
  const asked = w.run("a", { measure: true });
  const unasked = w.run("b");
  await w.running(2);
  for (const run of w.runs) run.end();
  expect(await asked.finish).toMatchObject({ image_bytes: 1_234 });
  expect(await unasked.finish).not.toHaveProperty("image_bytes");
});

describe("the idle time of a container", () => {
  it("a container without idle time has one run and is then stopped", async () => {
    const { finish } = w.run("a", { limits: { idle_seconds: 0 } });
    await w.running(1);
    w.runs[0]?.end();
    await finish;
    expect(w.pool.warm()).toEqual([]);
    expect(await w.started[0]?.exited).toMatchObject({ description: "was stopped" });
    void w.run("a", { limits: { idle_seconds: 0 } });
    await w.running(2);
    expect(w.started).toHaveLength(2);
  });

  it("a warm container is used again, without the output of the run before", async () => {
    const first = w.run("a");
    await w.running(1);
    w.runs[0]?.end();
    await first.finish;
    expect(w.pool.warm()).toEqual([warmOf("a")]);
    const { reporter } = w.run("a");
    await w.running(2);
    expect(w.started).toHaveLength(1);
    // The container's output was cleared twice: when it became ready, and after the first run.
    expect(w.started[0]?.forgotten).toBe(2);
    expect(reporter.events).toEqual([
      { event: "setup", data: { phase: "ready", seconds: expect.any(Number) } },
    ]);
  });

  it("a container reports that it is ready as soon as it is, during its first run", async () => {
    void w.run("a");
    await w.running(1);
    expect(w.told[0]).toEqual(["starting"]);
    await vi.waitFor(() => expect(w.told.at(-1)).toEqual(["ready"]));
  });

  it("a container stops when it has been idle for its time, and not before", async () => {
    const { finish } = w.run("a", { limits: { idle_seconds: 300 } });
    await w.running(1);
    w.runs[0]?.end();
    await finish;
    await vi.advanceTimersByTimeAsync(299_000);
    expect(w.pool.warm()).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(w.pool.warm()).toEqual([]);
    expect(await w.started[0]?.exited).toMatchObject({ description: "was stopped" });
  });

  it("the least recently used container is stopped when room is needed", async () => {
    for (const [index, name] of ["a", "b", "a"].entries()) {
      const { finish } = w.run(name);
      await w.running(index + 1);
      w.runs[index]?.end();
      await finish;
    }
    void w.run("c");
    await w.running(4);
    expect(w.started.map(({ launch }) => launch.image.repository)).toEqual(["a", "b", "c"]);
    expect(w.pool.warm()).toEqual([warmOf("a")]);
  });

  it.each([
    { most: 4, jobs: 4, left: ["b", "a"] },
    { most: 2, jobs: 4, left: ["a"] },
    { most: 1, jobs: 2, left: ["a"] },
  ])(
    "a container stays until its room is needed: $jobs jobs, $most in a container",
    async (burst) => {
      w = world(3);
      for (const [index, name] of ["c", "b", "a"].entries()) {
        const { finish } = w.run(name);
        await w.running(index + 1);
        w.runs[index]?.end();
        await finish;
      }
      const limits = { max_concurrency: burst.most };
      for (let n = 0; n < burst.jobs; n++) void w.run("d", { limits });
      await w.running(3 + burst.jobs);
      expect(w.pool.warm()).toEqual(burst.left.map((name) => warmOf(name)));
    },
  );
});
