/** The reasons why jobs of a model wait, over all classes. */
import { expect, test } from "vitest";
import { handOut } from "../../../../src/domain/scheduling/decide/decide.ts";
import { explainSome } from "../../../../src/domain/scheduling/decide/explain-class.ts";
import { ask, box, NOW, poolOf } from "./samples.ts";

test("jobs that do not wait have no reason", () => {
  expect(explainSome(poolOf([box("one")]), ["unknown"], NOW)).toEqual([]);
});

test("each class and reason is counted with its oldest job, and others’ jobs are not", () => {
  const state = poolOf([box("one", { gpus: 1 })]);
  for (const [n, id] of ["a", "b", "c", "d"].entries())
    state.ask(ask(id, { key: id, at: NOW - 1_000 + n }));
  for (const id of ["far", "farther"])
    state.ask(ask(id, { hardware: "h100", gpus: 8, at: NOW - 50 }));
  handOut(state, NOW);
  expect(explainSome(state, ["a", "c", "d", "far"], NOW)).toEqual([
    { hardware: "l40s", gpus: 1, why: "busy", jobs: 2, since: NOW - 998 },
    { hardware: "h100", gpus: 8, why: "no-box", jobs: 1, since: NOW - 50 },
  ]);
});
