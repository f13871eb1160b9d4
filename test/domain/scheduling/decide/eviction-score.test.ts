import { expect, test } from "vitest";
import { decide, handOut } from "../../../../src/domain/scheduling/decide/decide.ts";
import type { ContainerView } from "../../../../src/domain/scheduling/decide/types.ts";
import { ask, box, container, NOW, poolOf } from "./samples.ts";

/** Returns what a full box stops for a new key, given the asks and the setup time of each key. */
function stopped(
  containers: ContainerView[],
  keys: Record<string, { asks: number; setup_ms: number }>,
): string[] {
  const gpus = containers.reduce((sum, one) => sum + one.gpus, 0);
  const state = poolOf([box("one", { gpus, containers })]);
  for (const [key, { asks, setup_ms }] of Object.entries(keys)) {
    state.measured(key, { setup_ms });
    for (let n = 0; n < asks; n += 1) state.demand.add(key, NOW);
  }
  state.ask(ask("a", { key: "new" }));
  const decision = decide(state, NOW);
  return decision.do === "start" ? decision.stop : [];
}

const [c, d] = [container("c", { key: "c" }), container("d", { key: "d" })];

test("the container whose key is asked for less is stopped", () => {
  const keys = { c: { asks: 2, setup_ms: 10_000 }, d: { asks: 3, setup_ms: 10_000 } };
  expect(stopped([c, d], keys)).toEqual(["c"]);
});

test("the container that is set up again sooner is stopped, though its key is asked for more", () => {
  const keys = { c: { asks: 2, setup_ms: 60_000 }, d: { asks: 3, setup_ms: 10_000 } };
  expect(stopped([c, d], keys)).toEqual(["d"]);
});

test("a container that frees more GPUs is stopped before one that is worth a little less", () => {
  const large = container("c", { key: "c", gpus: 4 });
  const keys = { c: { asks: 3, setup_ms: 10_000 }, d: { asks: 2, setup_ms: 10_000 } };
  expect(stopped([large, d], keys)).toEqual(["c"]);
});

test("the second container of a key goes before the only one of another", () => {
  const twice = [container("c1", { key: "c" }), container("c2", { key: "c" }), d];
  const keys = { c: { asks: 3, setup_ms: 10_000 }, d: { asks: 1, setup_ms: 10_000 } };
  expect(stopped(twice, keys)).toEqual(["c1"]);
});

test("a container whose key is no longer asked for is stopped in the end", () => {
  let containers = [c, d];
  const state = poolOf([box("one", { gpus: 2, containers })]);
  for (let n = 0; n < 3; n += 1) state.demand.add("c", NOW);
  const gone: string[] = [];
  // Keys that are asked for once replace each other until the clock has passed the worth of c.
  for (let n = 0; n < 8; n += 1) {
    const key = `new-${n}`;
    state.ask(ask(key, { key }));
    const [handout] = handOut(state, NOW).handouts;
    gone.push(...(handout?.stop ?? []));
    containers = containers.filter(({ id }) => !handout?.stop.includes(id));
    containers.push(container(key, { key }));
    state.report(box("one", { gpus: 2, handed: handout?.number ?? 0, containers }), NOW);
  }
  expect(gone.indexOf("d")).toBe(0);
  expect(gone.indexOf("c")).toBeGreaterThan(1);
});
