/** Containers that capacity claims hold: warm-ups start them, and they stay until the pool says otherwise. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Container } from "../../../runner/src/containers/container.ts";
import { signals } from "../support/containers.ts";
import { type World, world } from "../support/fake-containers.ts";

let w: World;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  w = world(2);
});
afterEach(() => w.close());

/** The idle time of the containers, which begins when their warm-up ends. */
const IDLE = { limits: { idle_seconds: 5 } };

/** Starts a container as the pool does for a claim. */
async function warmUp(name: string): Promise<Container> {
  const { found, run } = w.reserve(name, [], { ...IDLE, warm_up: true, start: true });
  if (!(found instanceof Container)) throw new Error(`no room: ${found}`);
  expect(await run(found)).toMatchObject({ status: "succeeded", output: "none" });
  return found;
}

const names = () => w.pool.states().map(({ name }) => name);
const stays = async (name: string) => {
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(names()).toContain(name);
};
const leaves = async (name: string) => {
  await vi.advanceTimersByTimeAsync(5_001);
  await vi.waitFor(() => expect(names()).not.toContain(name));
};

test("a warm-up ends when its container is ready, without a run and without a bill for one", async () => {
  const { found, run } = w.reserve("a", [], { warm_up: true, start: true });
  if (!(found instanceof Container)) throw new Error("no room");
  const finish = await run(found);
  expect(finish).toMatchObject({ status: "succeeded", output: "none" });
  expect(finish.setup_seconds).toBeGreaterThanOrEqual(0);
  expect(finish.billable?.run_seconds).toBe(0);
  expect(w.runs).toEqual([]);
  expect(w.pool.states()).toMatchObject([{ phase: "ready", users: 0 }]);
});

test("a warm-up that needs a container of its own starts one beside an idle one", async () => {
  const [one, other] = [await warmUp("a"), await warmUp("a")];
  expect(other.id).not.toBe(one.id);
  expect(w.reserve("a", [], { ...IDLE, warm_up: true }).found).toBeInstanceOf(Container);
  expect(names()).toHaveLength(2);
});

test("a claimed container stays however long it is idle, until a list of the pool lacks it", async () => {
  const { id } = await warmUp("a");
  await stays(id);
  w.pool.claim([id], w.pool.states());
  await stays(id);
  w.pool.claim([], w.pool.states());
  await leaves(id);
});

test("a list says nothing of containers that started after the runner asked for it", async () => {
  const known = w.pool.states();
  const { id } = await warmUp("a");
  w.pool.claim([], known);
  await stays(id);
});

test("a list claims a container that a prediction has started", async () => {
  const { finish } = w.run("a", IDLE);
  await w.running(1);
  w.runs[0]?.end();
  await finish;
  const [{ name } = { name: "" }] = w.pool.states();
  w.pool.claim([name], w.pool.states());
  await stays(name);
});

test("the runner stops a claimed container only if the pool names it", async () => {
  const [{ id }] = [await warmUp("a"), await warmUp("b")];
  const stop = signals();
  const { finish } = w.run("c", {}, stop);
  await vi.advanceTimersByTimeAsync(120_000);
  expect(names()).toContain(id);
  stop.abortCancel();
  expect(await finish).toMatchObject({ status: "canceled" });
  expect(w.reserve("d").found).toMatch(/no room/);
  expect(w.reserve("d", [id]).found).toBeInstanceOf(Container);
  await vi.waitFor(() => expect(names()).not.toContain(id));
});

test("a claimed container whose start is given up ends", async () => {
  const release = w.load();
  const { found, run } = w.reserve("a", [], { warm_up: true, start: true });
  if (!(found instanceof Container)) throw new Error("no room");
  found.abandon();
  void run(found);
  await vi.waitFor(() => expect(names()).toEqual([]));
  release();
});

test("a reload leaves a claimed container for long enough that the pool can claim it again", async () => {
  w.outliving();
  const { id } = await warmUp("a");
  await stays(id);
  expect(w.pool.left()[0]?.idle_until).toBeGreaterThan(Date.now() + 60_000);
});
