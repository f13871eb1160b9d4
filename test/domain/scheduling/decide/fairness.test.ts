import { expect, test } from "vitest";
import { decide, handOut, MAX_OVERTAKEN } from "../../../../src/domain/scheduling/decide/decide.ts";
import type { PoolState } from "../../../../src/domain/scheduling/decide/pool-state.ts";
import type { Priority } from "../../../../src/domain/scheduling/decide/types.ts";
import { ask, box, container, NOW, poolOf } from "./samples.ts";

const MINUTE = 60_000;

function askMany(state: PoolState, account: string, count: number, at = NOW): void {
  for (let n = 0; n < count; n += 1)
    state.ask(ask(`${account}${n}`, { account, key: `${account}${n}`, at }));
}

const served = (state: PoolState, now = NOW) =>
  handOut(state, now).handouts.map((one) => one.ask.id);

test("an account that asks alone can have all of a class", () => {
  const state = poolOf([box("one", { gpus: 4 })]);
  askMany(state, "a", 9);
  expect(served(state)).toEqual(["a0", "a1", "a2", "a3"]);
});

test("an account has at most half while others wait or have asked within five minutes", () => {
  const state = poolOf([box("one", { gpus: 8 })]);
  askMany(state, "b", 1);
  expect(served(state)).toEqual(["b0"]);
  askMany(state, "a", 9);
  const { handouts, until } = handOut(state, NOW);
  expect(handouts.map((one) => one.ask.id)).toEqual(["a0", "a1", "a2", "a3"]);
  // `until` is the end of the five minutes: the pool looks again then, though nothing has changed.
  expect(until).toBe(NOW + 5 * MINUTE);
  expect(served(state, NOW + 5 * MINUTE)).toEqual(["a4", "a5", "a6"]);
});

test("an account has at least one slot", () => {
  const state = poolOf([box("one", { gpus: 1 })]);
  askMany(state, "a", 1);
  askMany(state, "b", 1);
  expect(served(state)).toEqual(["a0"]);
});

test("a job in a container that takes four at a time counts a quarter", () => {
  const state = poolOf([
    box("one", {
      gpus: 2,
      containers: [container("c", { max_concurrency: 4 }), container("d", { max_concurrency: 4 })],
    }),
  ]);
  for (const account of ["a", "b"])
    for (let n = 0; n < 5; n += 1)
      state.ask(ask(`${account}${n}`, { account, max_concurrency: 4 }));
  // Half of two containers is one container, which four jobs fill.
  expect(served(state).length).toBe(8);
  expect(state.waitingOf("a")).toBe(1);
  expect(state.shares.held("l40s", "a")).toBe(1);
});

test("the account share is a setting", () => {
  const state = poolOf([box("one", { gpus: 4 })], { account_share: 0.75 });
  askMany(state, "a", 9);
  state.ask(ask("b", { account: "b", gpus: 1, hardware: "l40s", key: "b", priority: "low" }));
  expect(served(state)).toEqual(["a0", "a1", "a2", "b"]);
});

test("an account with much of the line comes after the others once it has a container", () => {
  const state = poolOf([box("one", { gpus: 12 })]);
  askMany(state, "a", 6);
  for (const account of ["b", "c"]) askMany(state, account, 2);
  // Account a would have had the third place after c0, too, if accounts took turns.
  expect(served(state)).toEqual(["a0", "b0", "c0", "b1", "c1", "a1", "a2", "a3", "a4", "a5"]);
});

test("a flooding account gets only what the average use of the others leaves", () => {
  const state = poolOf([box("one", { gpus: 8 })]);
  // Other accounts use four GPUs for long.
  for (const account of ["b", "c", "d", "e"]) askMany(state, account, 1, NOW - 60 * MINUTE);
  expect(handOut(state, NOW - 60 * MINUTE).handouts.length).toBe(4);
  askMany(state, "a", 40);
  askMany(state, "f", 1);
  // The share is 8 - 4 - 2 × √4 = 0, and at least one.
  expect(served(state)).toEqual(["a0", "f0"]);
});

/** A pool of one GPU whose container serves one key again and again, while another key waits. */
function overtaken(times: number, priority: Priority = "normal"): PoolState {
  const state = poolOf([box("one", { gpus: 1, containers: [container("c")] })]);
  state.setTakes("one", false);
  state.ask(ask("old", { key: "old", account: "old" }));
  for (let n = 0; n < times; n += 1) {
    state.setTakes("one", true);
    state.ask(ask(`${n}`, { account: `${n}`, priority }));
    const [handout] = handOut(state, NOW).handouts;
    expect(handout?.ask.id).toBe(`${n}`);
    state.setTakes("one", false);
    const handed = handout?.number ?? 0;
    state.report(box("one", { gpus: 1, containers: [container("c")], handed }), NOW);
  }
  state.ask(ask("new", { account: "new", priority }));
  state.setTakes("one", true);
  return state;
}

test("a job that was overtaken twenty times is served next", () => {
  expect(decide(overtaken(MAX_OVERTAKEN - 1), NOW)).toMatchObject({ do: "join", job: "new" });
  expect(decide(overtaken(MAX_OVERTAKEN), NOW)).toMatchObject({ do: "start", job: "old" });
});

test("a job with a lower priority that was overtaken twenty times is served next, too", () => {
  expect(decide(overtaken(MAX_OVERTAKEN - 1, "high"), NOW)).toMatchObject({ job: "new" });
  expect(decide(overtaken(MAX_OVERTAKEN, "high"), NOW)).toMatchObject({ job: "old" });
});

test("only the first job in turn of each priority counts as overtaken", () => {
  const state = poolOf([
    box("one", { gpus: 1, containers: [container("c", { max_concurrency: 9 })] }),
  ]);
  const fields = { max_concurrency: 9, key: "other" };
  state.ask(ask("first", { account: "a", ...fields }));
  state.ask(ask("second", { account: "b", ...fields }));
  state.ask(ask("low", { account: "a", priority: "low", ...fields }));
  state.ask(ask("warm", { account: "c", max_concurrency: 9 }));
  expect(served(state)).toEqual(["warm"]);
  expect(["first", "second", "low"].map((id) => state.line.get(id)?.overtaken)).toEqual([1, 0, 1]);
});

test("a job behind 10,000 of an account that has its share is served at once", () => {
  const state = poolOf([box("one", { gpus: 4 })]);
  askMany(state, "a", 10_000);
  expect(served(state).length).toBe(4);
  state.report(box("two", { gpus: 4 }), NOW);
  state.setTakes("two", true);
  askMany(state, "b", 1);
  expect(served(state)).toEqual(["b0"]);
});

test("classes that share boxes take turns", () => {
  const state = poolOf([box("one", { gpus: 3, classes: ["l40s", "l40s-x2"] })], {
    account_share: 1,
  });
  const wide = { hardware: "l40s-x2", gpus: 2 };
  for (const id of ["w1", "w2"]) state.ask(ask(id, { key: id, ...wide }));
  for (const id of ["s1", "s2"]) state.ask(ask(id, { key: id }));
  expect(served(state)).toEqual(["w1", "s1"]);
  // Two classes wait, and the box has room for either: the class whose turn was longer ago is next.
  const { number = 0 } = state.handoutOf("s1") ?? {};
  state.report(box("one", { gpus: 2, classes: ["l40s", "l40s-x2"], handed: number }), NOW);
  expect(served(state)).toEqual(["w2"]);
});

test("the class with the job of the higher priority comes first, whichever had no turn for longest", () => {
  const state = poolOf([box("one", { gpus: 1, classes: ["l40s", "l40s-b"] })]);
  state.ask(ask("a", { key: "a" }));
  state.ask(ask("b", { key: "b", hardware: "l40s-b", priority: "high" }));
  expect(served(state)).toEqual(["b"]);
});

test("an idle container is joined by any job that waits for it, however far behind", () => {
  const state = poolOf([box("one", { gpus: 1, containers: [container("c")] })]);
  for (let n = 0; n < 300; n += 1) state.ask(ask(`${n}`, { account: `${n}`, key: `${n}` }));
  state.ask(ask("warm", { account: "warm" }));
  expect(served(state)).toEqual(["warm"]);
});
