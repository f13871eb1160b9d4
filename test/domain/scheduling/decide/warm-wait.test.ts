import { expect, test } from "vitest";
import { decide, handOut } from "../../../../src/domain/scheduling/decide/decide.ts";
import type { PoolState } from "../../../../src/domain/scheduling/decide/pool-state.ts";
import type { BoxView } from "../../../../src/domain/scheduling/decide/types.ts";
import { ask, box, busy, container, NOW, poolOf } from "./samples.ts";

/** Returns a pool in which setups take 60 s and runs 10 s. */
function measuredPool(view: BoxView): PoolState {
  const state = poolOf([view]);
  for (const key of ["story", "other"]) state.measured(key, { setup_ms: 60_000, run_ms: 10_000 });
  return state;
}

const started = (state: PoolState, now: number) =>
  handOut(state, now).handouts.map(({ ask, starts }) => [ask.id, starts]);

test("a job waits for a busy container that will serve it sooner than its own would be ready", () => {
  const state = measuredPool(box("one", { containers: [busy("c", "story", NOW - 4_000)] }));
  state.ask(ask("a"));
  // The run ends in 6 s; half as much is added.
  expect(handOut(state, NOW)).toEqual({ handouts: [], until: NOW + 9_000 });
  expect(started(state, NOW + 8_999)).toEqual([]);
  expect(started(state, NOW + 9_000)).toEqual([["a", true]]);
});

test("a hold is not repeated", () => {
  const state = measuredPool(box("one", { containers: [busy("c", "story")] }));
  state.ask(ask("a"));
  expect(handOut(state, NOW).until).toBe(NOW + 15_000);
  // Another run has begun meanwhile, and the job would wait for it if warmWaits were repeated.
  state.report(box("one", { containers: [busy("c", "story", NOW + 14_000)] }), NOW + 14_000);
  expect(handOut(state, NOW + 14_000).until).toBe(NOW + 15_000);
  expect(started(state, NOW + 15_000)).toEqual([["a", true]]);
});

test("a busy container serves as many jobs as it can within the setup time", () => {
  const state = measuredPool(box("one", { gpus: 9, containers: [busy("c", "story")] }));
  for (let n = 0; n < 8; n += 1) state.ask(ask(`${n}`, { account: `${n}` }));
  // Jobs are served after 10, 20, … 60 s: six of them.
  expect(started(state, NOW)).toEqual([
    ["6", true],
    ["7", true],
  ]);
});

test("a container that starts serves one waiting job", () => {
  const starting = container("c", { phase: "starting", users: 1, since: NOW - 50_000 });
  const state = measuredPool(box("one", { gpus: 9, containers: [starting] }));
  for (let n = 0; n < 3; n += 1) state.ask(ask(`${n}`, { account: `${n}` }));
  expect(started(state, NOW)).toEqual([
    ["1", true],
    ["2", true],
  ]);
});

test("a container that has just started serves a waiting job, too", () => {
  const state = measuredPool(box("one", { gpus: 9 }));
  state.measured("quick", { setup_ms: 60_000, run_ms: 100 });
  for (let n = 0; n < 2; n += 1) state.ask(ask(`${n}`, { key: "quick", account: `${n}` }));
  // A run after the whole setup comes no sooner than one in a new container.
  expect(started(state, NOW).length).toBe(2);
  for (let n = 2; n < 4; n += 1) state.ask(ask(`${n}`, { key: "quick", account: `${n}` }));
  // The two containers serve the next two jobs sooner a little later.
  expect(started(state, NOW + 5_000)).toEqual([]);
});

test("a job waits longer where another container would have to be stopped for it", () => {
  const free = box("one", { gpus: 4, containers: [busy("c", "slow", NOW)] });
  const full = box("one", {
    gpus: 3,
    containers: [busy("c", "slow", NOW), busy("d", "x"), container("e", { key: "y" })],
  });
  const [roomy, tight] = [free, full].map((view) => {
    const state = measuredPool(view);
    state.measured("slow", { setup_ms: 60_000, run_ms: 80_000 });
    state.ask(ask("a", { key: "slow" }));
    return decide(state, NOW);
  });
  expect(roomy).toMatchObject({ do: "start", stop: [] });
  // Two of three GPUs are used: the job waits up to 100 s.
  expect(tight).toMatchObject({ do: "nothing", until: NOW + 120_000 });
});

test("no job waits for a container of a box that takes no jobs", () => {
  const state = measuredPool(box("one", { containers: [busy("c", "story")] }));
  state.report(box("two"), NOW);
  state.setTakes("two", true);
  state.setTakes("one", false);
  state.ask(ask("a"));
  expect(decide(state, NOW)).toMatchObject({ do: "start", box: "two" });
});

test("runs that take no time do not keep the search from ending", () => {
  const state = measuredPool(box("one", { containers: [busy("c", "instant")] }));
  state.measured("instant", { setup_ms: 60_000, run_ms: 0 });
  for (let n = 0; n < 50; n += 1) state.ask(ask(`${n}`, { key: "instant", account: `${n}` }));
  expect(handOut(state, NOW).handouts).toEqual([]);
});
