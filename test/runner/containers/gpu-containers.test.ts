/** GPUs of containers: which ones a container gets, which containers are stopped for it, and failing GPUs. */
import { afterEach, beforeEach, describe, expect, it, test, vi } from "vitest";
import { Container } from "../../../runner/src/containers/container.ts";
import { type Device, PretendGpus } from "../../../runner/src/devices/device.ts";
import { type World, warmOf, world } from "../support/fake-containers.ts";

const gpus = (count: number) => ({ hardware: { identifier: `x${count}`, gpus: count } });

let listed: Device[];
let w: World;

/** @param containers more than the GPUs, so that GPUs are the scarce resource */
async function open(count: number, containers = 100): Promise<void> {
  listed = await new PretendGpus(count).list();
  w = world(containers, undefined, { list: async () => listed });
  await w.devices.check();
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => w.close());

const held = () =>
  w.started.map(({ launch }) => launch.lease.gpus.map(({ index }) => index).join());
const names = () => w.started.map(({ launch }) => launch.image.repository);
const run = (name: string, count: number) => w.run(name, gpus(count));

/** Starts a run and ends it, so that its container is idle. */
async function ran(name: string, count: number): Promise<void> {
  const before = w.runs.length;
  const { finish } = run(name, count);
  await w.running(before + 1);
  w.runs[before]?.end();
  await finish;
}

test("an idle container that no hand-out names is stopped, if memory is short rather than GPUs", async () => {
  await open(4, 4);
  await ran("a", 0);
  // A quarter of the memory is missing for the wide container.
  expect(w.reserve("wide", [], gpus(4)).found).toBeInstanceOf(Container);
  expect(w.pool.states()).toMatchObject([{ phase: "stopping" }, { phase: "starting", gpus: 4 }]);
  await vi.waitFor(() => expect(w.pool.states()).toMatchObject([{ phase: "ready", gpus: 4 }]));
});

test("a busy container stays, and no container is stopped for GPUs that a hand-out did not name", async () => {
  await open(4, 4);
  void run("a", 0);
  await w.running(1);
  expect(w.reserve("wide", [], gpus(4)).found).toMatch(/no room/);
  await ran("b", 1);
  expect(w.reserve("wide", [], gpus(4)).found).toMatch(/no room/);
  expect(w.pool.states().map(({ phase }) => phase)).toEqual(["ready", "ready"]);
});

describe("containers with GPUs", () => {
  it("containers have GPUs of their own, as many as their class says", async () => {
    await open(8);
    for (const [name, count] of [
      ["a", 4],
      ["b", 1],
      ["c", 1],
      ["d", 0],
    ] as const)
      void run(name, count);
    await w.running(4);
    expect(held()).toEqual(["0,1,2,3", "4", "5", ""]);
    const shares = w.started.map(({ launch }) => launch.lease.cpus);
    expect(shares).toEqual([8, 2, 2, 0.16]);
  });

  it("containers of two classes are separate, though all else is the same", async () => {
    await open(3);
    for (const count of [1, 2]) void run("a", count);
    await w.running(2);
    expect(held()).toEqual(["0", "1,2"]);
  });

  it("containers that need GPUs wait in order, and later ones do not take what an earlier one waits for", async () => {
    await open(4);
    const first = run("a", 2);
    await w.running(1);
    void run("wide", 4);
    void run("b", 1);
    await vi.advanceTimersByTimeAsync(10);
    expect(names()).toEqual(["a"]);
    w.runs[0]?.end();
    await first.finish;
    // The idle container was stopped for it.
    await w.running(2);
    expect(held()).toEqual(["0,1", "0,1,2,3"]);
    w.runs[1]?.end();
    await w.running(3);
    expect(names()).toEqual(["a", "wide", "b"]);
  });

  it("idle containers are stopped to make room, the least recently used first, and no more than needed", async () => {
    await open(4);
    for (const name of ["a", "b", "c", "d"]) await ran(name, 1);
    void run("wide", 2);
    await w.running(5);
    expect(w.pool.warm()).toEqual([warmOf("c", gpus(1)), warmOf("d", gpus(1))]);
    expect(held().at(-1)).toBe("0,1");
  });

  it("containers are not stopped where that would not suffice, or not help", async () => {
    await open(6);
    void run("busy", 4);
    await w.running(1);
    await ran("idle", 1);
    await ran("without", 0);
    void run("wide", 3);
    await vi.advanceTimersByTimeAsync(10);
    expect(w.pool.warm()).toEqual([warmOf("idle", gpus(1)), warmOf("without", gpus(0))]);
    w.runs[0]?.end();
    await w.running(4);
    // The GPUs of the third container suffice, though it was used last.
    expect(w.pool.warm()).toEqual([warmOf("idle", gpus(1)), warmOf("without", gpus(0))]);
    expect(held().at(-1)).toBe("0,1,2");
  });

  it("a job whose class needs more GPUs than the machine has fails with a message", async () => {
    await open(2);
    expect(await run("a", 4).finish).toMatchObject({
      status: "failed",
      error: {
        source: "internal",
        message: expect.stringMatching(/^Containers of x4 get 4 GPUs, and this .* has 2\./),
      },
    });
    expect(w.started).toEqual([]);
  });
});

describe("a GPU that fails", () => {
  const lose = async (...indices: number[]) => {
    listed = listed.filter((_, n) => !indices.includes(n));
    await vi.advanceTimersByTimeAsync(6_000);
    await w.devices.check();
  };

  it("a failed GPU takes its idle container with it, and the next one gets another GPU", async () => {
    await open(2);
    await ran("a", 1);
    await lose(0);
    await vi.waitFor(() => expect(w.pool.warm()).toEqual([]));
    await ran("a", 1);
    expect(held()).toEqual(["0", "1"]);
    expect(w.ledger.devices()).toMatchObject([
      { lost: true, holder: null },
      { holder: expect.any(String) },
    ]);
  });

  it("a failed GPU fails the jobs that wait for it, and lets running ones try", async () => {
    await open(2);
    const running = run("a", 2);
    await w.running(1);
    const waiting = run("b", 2);
    await lose(1);
    expect(await waiting.finish).toMatchObject({
      error: { message: expect.stringContaining("has 2, of which 1 failed") },
    });
    w.runs[0]?.end();
    expect(await running.finish).toMatchObject({ status: "succeeded" });
    expect(await w.started[0]?.exited).toMatchObject({ description: "was stopped" });
  });

  const cuda = "CUDA error: an illegal memory access was encountered";
  const fail = (n: number, message: string) =>
    w.runs[n]?.end({
      finish: { status: "failed", output: "none", error: { source: "external", message } },
    });

  it("a failed GPU is told apart from a failure of the model", async () => {
    await open(1);
    const healthy = run("a", 1);
    await w.running(1);
    fail(0, cuda);
    expect(await healthy.finish).toMatchObject({ error: { source: "external", message: cuda } });
    const broken = run("a", 1);
    await w.running(2);
    expect(w.started).toHaveLength(1);
    listed = [];
    await vi.advanceTimersByTimeAsync(6_000);
    fail(1, cuda);
    expect(await broken.finish).toMatchObject({
      error: {
        source: "internal",
        message: "Pretend GPU (GPU-pretend-0) of the runner's machine failed.",
      },
    });
  });

  it.each([
    { opens: false, message: cuda, revoked: true },
    { opens: true, message: "Failed to initialize NVML: Unknown Error", revoked: false },
    // This image has no shell.
    { opens: undefined, message: "Failed to initialize NVML: Unknown Error", revoked: true },
    { opens: undefined, message: cuda, revoked: false },
    { opens: false, message: "the prompt is too long", revoked: false },
  ])(
    "a failed GPU is told apart from one that a container has lost access to: %j",
    async (sign) => {
      await open(1);
      const { finish } = run("a", 1);
      await w.running(1);
      const [container] = w.started;
      if (container) container.opens = sign.opens;
      fail(0, sign.message);
      const lost = expect.stringMatching(
        /^The container lost access to its GPUs, .*daemon-reload.*use CDI/,
      );
      expect(await finish).toMatchObject({
        status: "failed",
        error: sign.revoked
          ? { source: "internal", message: lost }
          : { source: "external", message: sign.message },
      });
      // Another container has the GPU again.
      await ran("a", 1);
      expect(w.started).toHaveLength(sign.revoked ? 2 : 1);
      expect(w.ledger.devices()[0]).not.toHaveProperty("lost");
    },
  );
});
