/** Results of a hand-out: a reservation in a running container, in a new one, instead of an idle one, or none. */
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
  const { found, run } = w.reserve(name);
  if (!(found instanceof Container)) throw new Error(`no room: ${found}`);
  const finish = run(found);
  await w.running(before + 1);
  w.runs[before]?.end();
  await finish;
  return found.id;
}

test("a hand-out reserves a container at once, also while its container starts", () => {
  const release = w.hold();
  const { found } = w.reserve("a", [], { limits: { max_concurrency: 2 } });
  expect(w.pool.states()).toMatchObject([
    { phase: "starting", users: 1, max_concurrency: 2, runs_ms: [] },
  ]);
  expect(w.reserve("a", [], { limits: { max_concurrency: 2 } }).found).toBe(found);
  expect(w.pool.states()).toMatchObject([{ users: 2 }]);
  expect(w.reserve("a", [], { limits: { max_concurrency: 2 } }).found).not.toBe(found);
  release();
});

test("a hand-out without room is declined with a reason", async () => {
  const first = w.reserve("a");
  w.reserve("b");
  expect(w.reserve("c").found).toBe("this runner has no room for another container");
  if (!(first.found instanceof Container)) throw new Error("no reservation");
  const finish = first.run(first.found);
  await w.running(1);
  // The container is idle, but the hand-out does not name it.
  w.runs[0]?.end();
  await finish;
  expect(w.reserve("c").found).toMatch(/no room/);
});

test("only an idle container that is named makes room, and no more of them are stopped than needed", async () => {
  const [a, b] = [await idle("a"), await idle("b")];
  expect(w.reserve("c", ["another"]).found).toMatch(/no room/);
  const { found } = w.reserve("c", [b, a]);
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
  expect(w.reserve("c", [a]).found).toBeInstanceOf(Container);
  expect(w.reserve("d", [a]).found).toMatch(/no room/);
  await vi.waitFor(() =>
    expect(w.pool.states().map(({ phase }) => phase)).not.toContain("starting"),
  );
});

test("a container that is busy again is not stopped", async () => {
  const a = await idle("a");
  w.reserve("a");
  w.reserve("b");
  expect(w.reserve("c", [a]).found).toMatch(/no room/);
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
  const { found, run } = w.reserve("a");
  if (!(found instanceof Container)) throw new Error("no reservation");
  const finish = run(found);
  await w.running(1);
  w.runs[0]?.fail(new Error("stopped"));
  await Promise.allSettled([finish]);
  expect(w.measures.take()).toEqual([{ key: warmOf("a").key, setup_ms: expect.any(Number) }]);
});

test("a reservation that is given up is free again", async () => {
  const { found } = w.reserve("a");
  if (!(found instanceof Container)) throw new Error("no reservation");
  await vi.waitFor(() => expect(w.pool.states()).toMatchObject([{ phase: "ready", users: 1 }]));
  w.pool.leave(found, 60);
  expect(w.pool.states()).toMatchObject([
    { phase: "ready", users: 0, idle_ms: expect.any(Number) },
  ]);
});

test("the room of an idle container is free only once it has ended, even if its successor is given up", async () => {
  const a = await idle("a");
  w.reserve("b");
  const [stuck] = w.runs.map(({ container }) => container);
  if (!stuck) throw new Error("no container");
  for (const end of ["stop", "kill"] as const)
    vi.spyOn(stuck, end).mockImplementation(async () => void (await stuck.exited));
  const { found } = w.reserve("c", [a]);
  if (!(found instanceof Container)) throw new Error("no reservation");
  w.pool.leave(found, 0);
  await vi.waitFor(() => expect(w.pool.states().map(({ name }) => name)).not.toContain(found.id));
  expect(w.reserve("d").found).toMatch(/no room/);
  stuck.exit("was killed");
  await vi.waitFor(() => expect(w.reserve("d").found).toBeInstanceOf(Container));
});
