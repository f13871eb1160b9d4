/** The time for which an idle container stays: its own idle time, or until another one needs the room. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type World, warmOf, world } from "../support/fake-containers.ts";

let w: World;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  w = world(2);
});
afterEach(() => w.close());

describe("a container", () => {
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
    expect(reporter.events).toEqual([{ event: "setup", data: { phase: "ready" } }]);
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
