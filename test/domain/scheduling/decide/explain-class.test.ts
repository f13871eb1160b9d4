/** Why the jobs of a class wait. */
import { expect, test } from "vitest";
import { explain } from "../../../../src/domain/scheduling/decide/explain.ts";
import { explainClass } from "../../../../src/domain/scheduling/decide/explain-class.ts";
import { handOut } from "../../../../src/domain/scheduling/decide/hand-out.ts";
import { ask, box, busy, container, NOW, poolOf } from "./samples.ts";

test("nobody waits", () => {
  expect(explainClass(poolOf([box("one")]), "l40s", NOW)).toBeUndefined();
});

test("some wait for their turn, an account has its share", () => {
  const state = poolOf([box("one", { gpus: 4 })]);
  for (const id of ["a1", "a2", "a3"]) state.ask(ask(id, { key: id }));
  for (const id of ["b1", "b2"]) state.ask(ask(id, { account: "bob", key: id }));
  for (const id of ["c1"]) state.ask(ask(id, { account: "cy", key: id }));
  handOut(state, NOW);
  expect(explainClass(state, "l40s", NOW)).toEqual({
    reasons: [
      { why: "busy", jobs: 1, accounts: 1, boxes: [], free_at: null },
      { why: "share", jobs: 1, accounts: 1, boxes: [], free_at: null },
    ],
    gpus: 1,
    boxes: 1,
    box_gpus: 4,
    used_gpus: 4,
  });
});

test("nobody serves it; what serves it is too small", () => {
  const state = poolOf([box("one", { gpus: 2, classes: ["l40s", "l40s-x4"] })]);
  state.ask(ask("a", { hardware: "a100" }));
  state.ask(ask("w", { hardware: "l40s-x4", gpus: 4 }));
  handOut(state, NOW);
  expect(explainClass(state, "a100", NOW)).toMatchObject({
    reasons: [{ why: "no-box", jobs: 1 }],
    boxes: 0,
  });
  expect(explainClass(state, "l40s-x4", NOW)?.reasons).toMatchObject([{ why: "too-small" }]);
  expect(explain(state, "w", NOW)).toEqual({
    reason: { why: "too-small", gpus: 4, most: 2 },
    range: "unknown",
  });
});

test("one is reserved a box, another is declined by all", () => {
  const containers = [busy("c", "story"), container("d", { key: "x", users: 1, runs: [NOW] })];
  const state = poolOf([box("one", { gpus: 2, classes: ["l40s-x2"], containers })], {
    reserve_ms: 0,
  });
  for (const id of ["w", "v"])
    state.ask(ask(id, { hardware: "l40s-x2", gpus: 2, key: id, account: id }));
  handOut(state, NOW);
  state.exclude("v", "one", NOW);
  expect(explainClass(state, "l40s-x2", NOW)?.reasons).toEqual([
    { why: "reserved", jobs: 1, accounts: 1, boxes: ["one"], free_at: NOW + 5_000 },
    { why: "declined", jobs: 1, accounts: 1, boxes: ["one"], free_at: null },
  ]);
});
