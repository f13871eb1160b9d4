/** Containers that go from one process of a runner to the next. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Heir } from "../../../runner/src/containers/pool.ts";
import type { HandedContainer } from "../../../runner/src/succession/messages.ts";
import { type World, warmOf, world } from "../support/fake-containers.ts";

let w: World;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  w = world(3);
  w.movable();
});
afterEach(() => w.close());

function heir(takes = true) {
  const got: HandedContainer[] = [];
  const one: Heir = {
    isThere: true,
    async give(container) {
      got.push(container);
      return takes;
    },
  };
  return { one, got };
}

const HANDED: HandedContainer = {
  name: "c1",
  key: warmOf("a").key,
  model: { owner: "test", name: "a", version_number: 1 },
  image: { repository: "a", digest: `sha256:${"0".repeat(64)}` },
  keys: { container: warmOf("a").key, files: "f" },
  interface: "cog",
  hardware: { identifier: "cpu", gpus: 0 },
  egress: "public",
  max_concurrency: 1,
  handle: { id: "docker-0", address: "http://127.0.0.1:9" },
  token: "t",
  upload_url: "http://127.0.0.1:9/01990000-0000-7000-8000-000000000000",
  image_bytes: 7,
  idle_ms: 20_000,
  has_run: true,
};

async function idle(name: string, idle_seconds = 60) {
  const { finish } = w.run(name, { limits: { idle_seconds } });
  await vi.waitFor(() => expect(w.runs.at(-1)?.container.launch.image.repository).toBe(name));
  w.runs.at(-1)?.end();
  await finish;
}

const never = new AbortController().signal;

describe("the old process", () => {
  it("gives what is idle at once, and the rest when its run has ended", async () => {
    await idle("a");
    const busy = w.run("b");
    await w.running(2);
    const { one, got } = heir();
    await vi.advanceTimersByTimeAsync(20_000);
    w.pool.handOver(one);
    await vi.waitFor(() => expect(got).toHaveLength(1));
    expect(got[0]).toMatchObject({
      ...warmOf("a"),
      model: { owner: "test", name: "a", version_number: 1 },
      handle: { id: "docker-0" },
      image_bytes: 1_234,
      has_run: true,
    });
    expect(got[0]?.idle_ms).toBeLessThanOrEqual(60_000);
    const gone = w.pool.handedOver(never);
    w.runs[1]?.end();
    await busy.finish;
    await gone;
    expect(got.map(({ handle }) => handle.id)).toEqual(["docker-0", "docker-1"]);
    expect(w.pool.handed).toEqual(["docker-0", "docker-1"]);
    expect(w.started.map(({ isAway }) => isAway)).toEqual([true, true]);
    expect(w.pool.held()).toEqual([]);
  });

  it("starts nothing any more", async () => {
    const busy = w.run("a");
    await w.running(1);
    w.pool.handOver(heir().one);
    expect(w.place("b").found).toMatch(/no room/);
    await expect(w.run("b").finish).resolves.toMatchObject({
      status: "failed",
      error: { source: "internal", message: expect.stringContaining("was updated") },
    });
    w.runs[0]?.end();
    await busy.finish;
  });

  it("lets a server become ready whose users have gone, and gives that, too", async () => {
    const ready = w.load();
    const { found } = w.place("a");
    if (typeof found !== "object") throw new Error("no place");
    await vi.waitFor(() => expect(w.started).toHaveLength(1));
    const { one, got } = heir();
    w.pool.handOver(one);
    w.pool.leave(found, 60);
    ready();
    await w.pool.handedOver(never);
    expect(got).toHaveLength(1);
  });

  it("stops what it only fetches: the next start goes on with what is there", async () => {
    const release = w.hold();
    const { found } = w.place("a");
    if (typeof found !== "object") throw new Error("no place");
    const { one, got } = heir();
    w.pool.handOver(one);
    w.pool.leave(found, 60);
    release();
    await w.pool.handedOver(never);
    expect(got).toEqual([]);
    expect(w.started).toEqual([]);
  });

  it("stops what it has given to one that is gone", async () => {
    await idle("a");
    w.pool.handOver(heir(false).one);
    expect(await w.started[0]?.exited).toMatchObject({ description: "was stopped" });
    expect(w.started[0]?.isAway).toBe(false);
  });

  it("stops what ends with it anyway", async () => {
    await idle("a");
    const [container] = w.started;
    delete container?.transfer;
    const { one, got } = heir();
    w.pool.handOver(one);
    expect(await container?.exited).toMatchObject({ description: "was stopped" });
    expect(got).toEqual([]);
  });

  it("gives nothing that may be dying", async () => {
    const { promise, resolve } = Promise.withResolvers<"retired">();
    const { finish } = w.run("a");
    await w.running(1);
    const { one, got } = heir();
    w.pool.handOver(one);
    w.runs[0]?.end({ finish: { status: "failed", output: "none" }, verdict: promise });
    await finish;
    resolve("retired");
    await w.pool.handedOver(never);
    expect(got).toEqual([]);
  });
});

describe("the new process", () => {
  const adopt = (changes: Partial<HandedContainer> = {}) => {
    const handed = { ...HANDED, ...changes };
    w.pool.adopt(handed, w.ledger.taken(handed.name, handed.hardware, []), w.parts);
  };

  it("runs in it, as in one of its own", async () => {
    adopt();
    await vi.waitFor(() => expect(w.pool.warm()).toEqual([warmOf("a")]));
    expect(w.measures.take()).toEqual([]);
    const { reporter, finish } = w.run("a", { measure: true });
    await w.running(1);
    w.runs[0]?.end();
    expect(await finish).toMatchObject({ status: "succeeded", image_bytes: 7 });
    expect(reporter.events).toEqual([{ event: "setup", data: { phase: "ready" } }]);
    expect(w.started).toHaveLength(1);
  });

  it("stops it when the rest of its idle time is over", async () => {
    adopt();
    await vi.waitFor(() => expect(w.pool.warm()).toHaveLength(1));
    await vi.advanceTimersByTimeAsync(19_000);
    expect(w.pool.warm()).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await w.started[0]?.exited).toMatchObject({ description: "was stopped" });
  });

  it("stops it once nothing runs in it, if it cannot call this process", async () => {
    adopt();
    adopt({ name: "c2", key: warmOf("b").key });
    await vi.waitFor(() => expect(w.pool.warm()).toHaveLength(2));
    const { finish } = w.run("a");
    await w.running(1);
    w.pool.retire(["c1", "c2", "gone"]);
    expect(await w.started[1]?.exited).toMatchObject({ description: "was stopped" });
    expect(w.place("a").found).toBeTypeOf("object");
    w.runs[0]?.end();
    await finish;
    expect(await w.started[0]?.exited).toMatchObject({ description: "was stopped" });
  });

  it("counts it, until it has ended", async () => {
    adopt();
    adopt({ name: "c2" });
    adopt({ name: "c3" });
    expect(w.place("b").found).toMatch(/no room/);
    await vi.waitFor(() => expect(w.pool.warm()).toHaveLength(3));
    w.started[0]?.exit("exited with code 1");
    await vi.waitFor(() => expect(w.place("b").found).toBeTypeOf("object"));
  });

  it("ends one that does not answer it", async () => {
    w.load();
    adopt();
    const { found, run } = w.place("a");
    if (typeof found !== "object") throw new Error("no place");
    const finish = run(found);
    w.started[0]?.exit("exited with code 1");
    void found.stop();
    expect(await finish).toMatchObject({ status: "failed" });
    await vi.waitFor(() => expect(w.pool.states()).toEqual([]));
  });
});
