/** Results of a hand-out: a place in a running container, in a new one, instead of an idle one, or none. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Container } from "../../../runner/src/containers/container.ts";
import { type World, warmOf, world } from "../support/fake-containers.ts";

let w: World;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  w = world(2);
});
afterEach(() => w.close());

/** Returns the ID of an idle container of this model. */
async function idle(name: string): Promise<string> {
  const before = w.runs.length;
  const { found, run } = w.place(name);
  if (!(found instanceof Container)) throw new Error(`no place: ${found}`);
  const finish = run(found);
  await w.running(before + 1);
  w.runs[before]?.end();
  await finish;
  return found.id;
}

test("a hand-out takes a place at once, also while its container starts", () => {
  const release = w.hold();
  const { found } = w.place("a", [], { limits: { max_concurrency: 2 } });
  expect(w.pool.states()).toMatchObject([{ phase: "starting", users: 1, room: 2, runs_ms: [] }]);
  expect(w.place("a", [], { limits: { max_concurrency: 2 } }).found).toBe(found);
  expect(w.pool.states()).toMatchObject([{ users: 2 }]);
  expect(w.place("a", [], { limits: { max_concurrency: 2 } }).found).not.toBe(found);
  release();
});

test("a hand-out without room is declined with a reason", async () => {
  const first = w.place("a");
  w.place("b");
  expect(w.place("c").found).toBe("the containers of this runner leave no room for another one");
  if (!(first.found instanceof Container)) throw new Error("no place");
  const finish = first.run(first.found);
  await w.running(1);
  // The container is idle, but the hand-out does not name it.
  w.runs[0]?.end();
  await finish;
  expect(w.place("c").found).toMatch(/no room/);
});

test("only an idle container that is named makes room, and no more of them are stopped than needed", async () => {
  const [a, b] = [await idle("a"), await idle("b")];
  expect(w.place("c", ["another"]).found).toMatch(/no room/);
  const { found } = w.place("c", [b, a]);
  expect(found).toBeInstanceOf(Container);
  expect(w.pool.states().map(({ name, phase }) => [name === a, phase])).toEqual([
    [true, "stopping"],
    [false, "ready"],
    [false, "starting"],
  ]);
  await vi.waitFor(() => expect(w.pool.states()).toHaveLength(2));
  expect(w.pool.states().some(({ name }) => name === b)).toBe(true);
});

test("a stopping container makes room once, and the next hand-out finds none", async () => {
  const [a] = [await idle("a"), await idle("b")];
  expect(w.place("c", [a]).found).toBeInstanceOf(Container);
  expect(w.place("d", [a]).found).toMatch(/no room/);
  await vi.waitFor(() =>
    expect(w.pool.states().map(({ phase }) => phase)).not.toContain("starting"),
  );
});

test("a container that is busy again is not stopped", async () => {
  const a = await idle("a");
  w.place("a");
  w.place("b");
  expect(w.place("c", [a]).found).toMatch(/no room/);
});

test("the durations of setups and runs are reported once, by key", async () => {
  await idle("a");
  const ms = expect.any(Number);
  expect(w.measures.take()).toEqual([
    { key: warmOf("a").key, setup_ms: ms },
    { key: warmOf("a").key, run_ms: ms },
  ]);
  expect(w.measures.take()).toEqual([]);
});

test("a run that has not succeeded has no measured duration", async () => {
  const { found, run } = w.place("a");
  if (!(found instanceof Container)) throw new Error("no place");
  const finish = run(found);
  await w.running(1);
  w.runs[0]?.fail(new Error("stopped"));
  await Promise.allSettled([finish]);
  expect(w.measures.take()).toEqual([{ key: warmOf("a").key, setup_ms: expect.any(Number) }]);
});

test("a place that is given up is free again", async () => {
  const { found } = w.place("a");
  if (!(found instanceof Container)) throw new Error("no place");
  await vi.waitFor(() => expect(w.pool.states()).toMatchObject([{ phase: "ready", users: 1 }]));
  w.pool.leave(found, 60);
  expect(w.pool.states()).toMatchObject([{ phase: "ready", users: 0, idle_ms: 0 }]);
});

test("the room of an idle container is free only once it has ended, even if its successor is given up", async () => {
  const a = await idle("a");
  w.place("b");
  const [stuck] = w.runs.map(({ container }) => container);
  if (!stuck) throw new Error("no container");
  for (const end of ["stop", "kill"] as const)
    vi.spyOn(stuck, end).mockImplementation(async () => void (await stuck.exited));
  const { found } = w.place("c", [a]);
  if (!(found instanceof Container)) throw new Error("no place");
  w.pool.leave(found, 0);
  await vi.waitFor(() => expect(w.pool.states().map(({ name }) => name)).not.toContain(found.id));
  expect(w.place("d").found).toMatch(/no room/);
  stuck.exit("was killed");
  await vi.waitFor(() => expect(w.place("d").found).toBeInstanceOf(Container));
});
