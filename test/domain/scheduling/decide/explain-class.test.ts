/** The reasons why jobs of a class wait. */
import { expect, test } from "vitest";
import { handOut } from "../../../../src/domain/scheduling/decide/decide.ts";
import { explain } from "../../../../src/domain/scheduling/decide/explain.ts";
import {
  explainClass,
  explainSome,
} from "../../../../src/domain/scheduling/decide/explain-class.ts";
import { ask, box, busy, container, NOW, poolOf } from "./samples.ts";

test("a class without waiting jobs has no reasons", () => {
  expect(explainClass(poolOf([box("one")]), "l40s", NOW)).toBeUndefined();
});

test("jobs wait for their turn, and an account has its share", () => {
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
    by_account: [
      { account: "bob", jobs: 1, since: NOW, why: "busy" },
      { account: "ada", jobs: 1, since: NOW, why: "share" },
    ],
    gpus: 1,
    boxes: 1,
    box_gpus: 4,
    used_gpus: 4,
    lacks_slots: false,
  });
});

test("the reasons name the accounts that wait most, with the reason of their oldest job", () => {
  const state = poolOf([]);
  for (let n = 1; n <= 12; n++)
    for (let job = 0; job < n; job++)
      state.ask(ask(`${n}-${job}`, { account: `account ${n}`, at: NOW - 100 * n + job }));
  const { by_account = [] } = explainClass(state, "l40s", NOW) ?? {};
  expect(by_account).toHaveLength(10);
  expect(by_account[0]).toEqual({
    account: "account 12",
    jobs: 12,
    since: NOW - 1_200,
    why: "no-box",
  });
  expect(by_account.at(-1)).toMatchObject({ account: "account 3", jobs: 3 });
});

test("jobs wait because no box serves the class, or because its boxes are too small", () => {
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

test("jobs wait because one has a box reserved and another is declined by all boxes", () => {
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

test("a box is kept for one job, and jobs of another class wait for it", () => {
  const containers = [busy("c", "story"), busy("d", "story")];
  const state = poolOf([box("one", { gpus: 3, classes: ["l40s", "l40s-x3"], containers })], {
    reserve_ms: 0,
    account_share: 1,
  });
  state.ask(ask("w", { hardware: "l40s-x3", gpus: 3, key: "wide", account: "w" }));
  handOut(state, NOW);
  // Job `a` would run for longer than the box is kept.
  state.ask(ask("a", { key: "new", account: "bob", run_limit_ms: 86_400_000 }));
  handOut(state, NOW);
  expect(explainClass(state, "l40s", NOW)).toMatchObject({
    reasons: [{ why: "busy", jobs: 1, boxes: ["one"] }],
    used_gpus: 2,
  });
});

test("jobs wait because a container has room for more and its box has no slot", () => {
  const roomy = container("c", { users: 1, max_concurrency: 32, runs: [NOW] });
  const full = box("one", { gpus: 1, slots: 1, handed: 1, handouts: [1], containers: [roomy] });
  const state = poolOf([full]);
  state.ask(ask("a", { max_concurrency: 32 }));
  handOut(state, NOW);
  expect(explainClass(state, "l40s", NOW)).toMatchObject({
    reasons: [{ why: "busy" }],
    lacks_slots: true,
  });
});

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
