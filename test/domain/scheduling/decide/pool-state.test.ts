import { expect, test } from "vitest";
import { decide, handOut } from "../../../../src/domain/scheduling/decide/decide.ts";
import { ask, box, container, NOW, poolOf } from "./samples.ts";

test("a hand-out is assumed to be on its box until the box reports it", () => {
  const state = poolOf([box("one", { gpus: 1 })]);
  state.ask(ask("a"));
  state.ask(ask("b", { key: "other", account: "bob" }));
  const { handouts } = handOut(state, NOW);
  expect(handouts.map((one) => one.ask.id)).toEqual(["a"]);
  const number = handouts[0]?.number ?? 0;
  // A snapshot from before the hand-out changes nothing; one from after it replaces the assumption.
  state.report(box("one", { gpus: 1 }), NOW);
  expect(decide(state, NOW)).toMatchObject({ do: "nothing" });
  state.report(box("one", { gpus: 1, handed: number, containers: [container("c")] }), NOW);
  expect(decide(state, NOW)).toMatchObject({ do: "start", job: "b", stop: ["c"] });
});

test("jobs join a container that was only assumed, also after it has its own name", () => {
  const state = poolOf([box("one")]);
  state.ask(ask("a", { max_concurrency: 3 }));
  const first = handOut(state, NOW).handouts[0];
  state.ask(ask("b", { max_concurrency: 3, account: "bob" }));
  const second = handOut(state, NOW).handouts[0];
  expect(second).toMatchObject({ starts: false, container: first?.container });
  const starting = container("c", { phase: "starting", users: 1, max_concurrency: 3 });
  const handed = first?.number ?? 0;
  state.report(box("one", { handed, handouts: [handed], containers: [starting] }), NOW);
  expect([...state.fleet.containersOf("l40s story")].map(({ id, users }) => [id, users])).toEqual([
    ["c", 2],
  ]);
});

test("numbers of hand-outs rise, also across a restart of the pool", () => {
  const numbers = () => {
    const state = poolOf([box("one", { handed: 5 })]);
    for (const id of ["a", "b"]) state.ask(ask(id, { key: id }));
    return handOut(state, NOW).handouts.map(({ number }) => number);
  };
  expect(numbers()).toEqual([NOW, NOW + 1]);
});

test("a job whose hand-out was dropped waits again at its place", () => {
  const state = poolOf([box("one", { gpus: 1 })]);
  for (const id of ["a", "b", "c"]) state.ask(ask(id, { key: id }));
  const number = handOut(state, NOW).handouts[0]?.number ?? 0;
  state.dropped("one", number, NOW);
  expect(decide(state, NOW)).toMatchObject({ do: "start", job: "a" });
  expect(state.shares.jobs("l40s", "ada")).toBe(0);
});

test("an account's jobs count until their boxes report that they have ended", () => {
  const state = poolOf([box("one")]);
  state.ask(ask("a"));
  const number = handOut(state, NOW).handouts[0]?.number ?? 0;
  expect(state.shares.jobs("l40s", "ada")).toBe(1);
  state.report(box("one", { handed: number, handouts: [number] }), NOW);
  expect(state.shares.jobs("l40s", "ada")).toBe(1);
  state.report(box("one", { handed: number }), NOW);
  expect(state.shares.jobs("l40s", "ada")).toBe(0);
});

test("a box that leaves takes its containers and jobs with it", () => {
  const state = poolOf([box("one", { containers: [container("c")] })]);
  state.ask(ask("a"));
  handOut(state, NOW);
  state.leave("one", NOW);
  state.ask(ask("b"));
  expect(decide(state, NOW)).toMatchObject({ do: "nothing" });
  expect(state.shares.jobs("l40s", "ada")).toBe(0);
});

test("a withdrawn job is handed to no box, and a job that is asked for twice waits once", () => {
  const state = poolOf([box("one")]);
  state.ask(ask("a"));
  state.ask(ask("a"));
  expect(state.waiting).toBe(1);
  state.withdraw("a");
  expect(decide(state, NOW)).toMatchObject({ do: "nothing" });
});

test("estimates and demand survive as JSON", () => {
  const state = poolOf([]);
  state.ask(ask("a"));
  for (const setup_ms of [10_000, 20_000]) state.measured("story", { setup_ms });
  const other = poolOf([]);
  other.load(JSON.parse(JSON.stringify(state.save())));
  expect(other.estimates.setup("story")).toEqual({ count: 2, mean: 15_000, variance: 25_000_000 });
  expect(other.demand.of("story", NOW)).toBe(1);
});
