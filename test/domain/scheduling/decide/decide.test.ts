import { expect, test } from "vitest";
import { decide, handOut } from "../../../../src/domain/scheduling/decide/decide.ts";
import { ask, box, busy, container, NOW, poolOf } from "./samples.ts";

test("a pool without a box decides nothing", () => {
  const state = poolOf([]);
  state.ask(ask("a"));
  expect(decide(state, NOW)).toMatchObject({ do: "nothing", until: null });
});

test("deciding does not change the state of the pool", () => {
  const state = poolOf([box("one")]);
  state.ask(ask("a"));
  expect(decide(state, NOW)).toEqual(decide(state, NOW));
  expect(state.waiting).toBe(1);
});

test("a container that is up is chosen before free max_concurrency", () => {
  const state = poolOf([box("one"), box("two", { containers: [container("c")] })]);
  state.ask(ask("a"));
  expect(decide(state, NOW)).toMatchObject({ do: "join", job: "a", box: "two", container: "c" });
});

test("a warm job comes before one that needs a start, whatever their order", () => {
  const state = poolOf([box("one", { containers: [container("c")] })]);
  state.ask(ask("a", { key: "other" }));
  state.ask(ask("b"));
  expect(handOut(state, NOW).handouts.map(({ ask, starts }) => [ask.id, starts])).toEqual([
    ["b", false],
    ["a", true],
  ]);
});

test("a box that has the image is chosen first among boxes with max_concurrency", () => {
  const { image } = ask("a");
  const state = poolOf([box("one"), box("two", { images: new Set([image]) })]);
  state.ask(ask("a"));
  expect(decide(state, NOW)).toMatchObject({ do: "start", box: "two", stop: [] });
});

test("the box with the fewest free GPUs is chosen among equals, so that room stays together", () => {
  const state = poolOf([box("one"), box("two", { containers: [busy("c", "other")] })]);
  state.ask(ask("a"));
  expect(decide(state, NOW)).toMatchObject({ do: "start", box: "two" });
});

test("a full box makes room with an idle container, not with a busy one", () => {
  const containers = [busy("c", "x"), container("d", { key: "y" }), busy("e", "z")];
  const state = poolOf([box("one", { containers })]);
  state.ask(ask("a"));
  expect(decide(state, NOW)).toMatchObject({ do: "start", job: "a", box: "one", stop: ["d"] });
});

test("no more containers are stopped than the job needs", () => {
  const containers = [
    container("c", { key: "x" }),
    container("d", { key: "y" }),
    container("e", { key: "z", gpus: 2 }),
  ];
  const state = poolOf([box("one", { gpus: 4, containers, classes: ["l40s-x2"] })]);
  for (const [key, asks] of [
    ["x", 9],
    ["y", 1],
    ["z", 3],
  ] as const)
    for (let n = 0; n < asks; n += 1) state.demand.add(key, NOW);
  state.ask(ask("a", { hardware: "l40s-x2", gpus: 2 }));
  expect(decide(state, NOW)).toMatchObject({ do: "start", stop: ["e"] });
});

test("a box gets jobs of its classes only", () => {
  const state = poolOf([box("one")]);
  state.ask(ask("a", { hardware: "a100" }));
  expect(decide(state, NOW)).toMatchObject({ do: "nothing" });
});

test("a box that takes no jobs gets none", () => {
  const state = poolOf([box("one", { containers: [container("c")] })]);
  state.setTakes("one", false);
  state.ask(ask("a"));
  expect(decide(state, NOW)).toMatchObject({ do: "nothing" });
});

test("a job of a class without GPUs takes no GPU, but a place for a container and for a run", () => {
  const cpu = { hardware: "cpu", gpus: 0 };
  const state = poolOf([box("one", { gpus: 0, classes: ["cpu"], containers_max: 2, slots: 9 })]);
  for (const id of ["a", "b", "c"]) state.ask(ask(id, { ...cpu, key: id, account: id }));
  expect(handOut(state, NOW).handouts.map((one) => one.ask.id)).toEqual(["a", "b"]);
});

test("a box gets as many jobs as it has slots", () => {
  const state = poolOf([
    box("one", { slots: 2, containers: [container("c", { max_concurrency: 9 })] }),
  ]);
  for (const id of ["a", "b", "c"]) state.ask(ask(id, { account: id, max_concurrency: 9 }));
  expect(handOut(state, NOW).handouts.map((one) => one.ask.id)).toEqual(["a", "b"]);
});

test("accounts take turns", () => {
  const state = poolOf([box("one", { containers: [container("c", { max_concurrency: 4 })] })], {
    account_share: 1,
  });
  for (const id of ["a1", "a2", "a3"]) state.ask(ask(id, { max_concurrency: 4 }));
  state.ask(ask("b1", { account: "bob", max_concurrency: 4 }));
  expect(handOut(state, NOW).handouts.map((one) => one.ask.id)).toEqual(["a1", "b1", "a2", "a3"]);
});

test("a box that declined a job is offered it again only when its report changes", () => {
  const state = poolOf([box("one")]);
  state.ask(ask("a"));
  const [first] = handOut(state, NOW).handouts;
  const number = first?.number ?? 0;
  state.dropped("one", number, NOW);
  state.exclude("a", "one", NOW);
  expect(decide(state, NOW)).toMatchObject({ do: "nothing" });
  state.report(box("one", { handed: number }), NOW);
  expect(decide(state, NOW)).toMatchObject({ do: "nothing" });
  state.report(box("one", { handed: number, gpus: 2 }), NOW);
  expect(decide(state, NOW)).toMatchObject({ do: "start", job: "a", box: "one" });
});
