import { expect, test } from "vitest";
import { decide, handOut } from "../../../../src/domain/scheduling/decide/decide.ts";
import type { PoolState } from "../../../../src/domain/scheduling/decide/pool-state.ts";
import type { BoxView, Settings } from "../../../../src/domain/scheduling/decide/types.ts";
import { ask, box, busy, container, NOW, poolOf } from "./samples.ts";

const SECOND = 1_000;
const CLASSES = ["l40s", "l40s-x2"];
const wide = (id: string, at = NOW) =>
  ask(id, { hardware: "l40s-x2", gpus: 2, key: "wide", account: "wide", at });

/** Returns a pool in which setups take 10 s and runs 20 s. */
function pool(boxes: BoxView[], settings: Partial<Settings> = {}): PoolState {
  const state = poolOf(boxes, { account_share: 1, ...settings });
  for (const key of ["wide", "story", "other"])
    state.measured(key, { setup_ms: 10 * SECOND, run_ms: 20 * SECOND });
  return state;
}

const two = (id: string, ages: [number, number], now = NOW): BoxView =>
  box(id, {
    gpus: 2,
    classes: CLASSES,
    containers: ages.map((age, n) => busy(`c${n}`, "story", now - age * SECOND)),
  });

test("a wide job reserves the box that is free soonest after a minute as first in turn", () => {
  const state = pool([two("one", [0, 15]), two("two", [5, 8])]);
  state.ask(wide("w"));
  expect(handOut(state, NOW).until).toBe(NOW + 60 * SECOND);
  expect(state.reservations.size).toBe(0);
  const later = NOW + 60 * SECOND;
  for (const one of [two("one", [0, 15], later), two("two", [5, 8], later)])
    state.report(one, later);
  handOut(state, later);
  // The longer run ends in 20 s on box one, and in 15 s on box two.
  expect(state.reservations.get("l40s-x2")).toMatchObject({
    job: "w",
    box: "two",
    free_at: later + 15 * SECOND,
  });
});

/** Returns a pool in which the job has reserved the box: one GPU is idle, the other is free in 40 s. */
function reserved(): PoolState {
  const containers = [container("c"), busy("d", "long", NOW)];
  const view = box("one", { gpus: 2, classes: CLASSES, containers });
  const state = pool([view], { reserve_ms: 0 });
  state.measured("long", { run_ms: 40 * SECOND });
  state.ask(ask("d", { key: "long", run_limit_ms: 100 * SECOND }));
  state.report(box("one", { gpus: 2, classes: CLASSES }), NOW);
  const [handout] = handOut(state, NOW).handouts;
  const handed = handout?.number ?? 0;
  state.report({ ...view, handed, handouts: [handed] }, NOW);
  state.ask(wide("w"));
  handOut(state, NOW);
  expect(state.reservations.get("l40s-x2")?.job).toBe("w");
  return state;
}

test("a reserved box takes only runs that end before the reservation begins", () => {
  const state = reserved();
  state.ask(ask("short", { run_limit_ms: 30 * SECOND }));
  expect(decide(state, NOW)).toMatchObject({ do: "join", job: "short" });
  // The other run would end at 45 s.
  expect(decide(state, NOW + 25 * SECOND)).toMatchObject({ do: "nothing" });
});

test("a reserved box takes no run that may take longer than the runs that it has", () => {
  const state = reserved();
  state.ask(ask("short", { run_limit_ms: 3_600 * SECOND }));
  expect(decide(state, NOW)).toMatchObject({ do: "nothing" });
});

test("a job that was withdrawn or that declined the box reserves it no longer", () => {
  const state = reserved();
  state.ask(ask("other", { run_limit_ms: 3_600 * SECOND }));
  state.exclude("w", "one", NOW);
  expect(decide(state, NOW)).toMatchObject({ do: "join", job: "other" });
  const again = reserved();
  again.ask(ask("other", { run_limit_ms: 3_600 * SECOND }));
  again.withdraw("w");
  expect(decide(again, NOW)).toMatchObject({ do: "join", job: "other" });
});

test("no second box is reserved for the same class, and no box for two classes", () => {
  const classes = [...CLASSES, "l40s-x3"];
  const runs = [0, 1, 2].map((n) => busy(`c${n}`, "story"));
  const boxes = ["one", "two"].map((id) => box(id, { classes, containers: runs }));
  const state = pool(boxes, { reserve_ms: 0 });
  state.ask(wide("w1"));
  state.ask({ ...wide("w2"), account: "other" });
  state.ask({ ...wide("x"), hardware: "l40s-x3", gpus: 3, account: "third" });
  handOut(state, NOW);
  handOut(state, NOW);
  const made = [...state.reservations.values()].map(({ job, box }) => [job, box]);
  expect(made).toEqual([
    ["w1", "one"],
    ["x", "two"],
  ]);
});

test("beside a flood of singles a wide job runs within a minute, the limits of the runs, and a setup", () => {
  const limit = 30 * SECOND;
  const state = pool([box("one", { gpus: 4, classes: CLASSES })]);
  const runs = new Map<number, { key: string; ends: number; began: number }>();
  let [number, handed, now] = [0, 0, NOW];
  const begins = new Map<string, number>();
  const tell = () => {
    const containers = [...runs].map(([handout, { key, began }]) => ({
      ...busy(`c${handout}`, key, began),
      gpus: key === "wide" ? 2 : 1,
      hardware: key === "wide" ? "l40s-x2" : "l40s",
    }));
    const handouts = [...runs.keys()];
    state.report(box("one", { gpus: 4, classes: CLASSES, handed, handouts, containers }), now);
  };
  // Every run takes as long as it may, longer than expected.
  for (; now < NOW + 400 * SECOND && !begins.has("w"); now += SECOND) {
    for (const [handout, { ends }] of runs) if (ends <= now) runs.delete(handout);
    tell();
    for (; state.waitingFor("l40s") < 5; number += 1)
      state.ask(ask(`${number}`, { account: `${number}`, run_limit_ms: limit, at: now }));
    if (now === NOW + 10 * SECOND) state.ask({ ...wide("w", now), run_limit_ms: limit });
    for (const one of handOut(state, now).handouts) {
      handed = one.number;
      begins.set(one.ask.id, now);
      runs.set(one.number, { key: one.ask.key, began: now, ends: now + limit });
    }
    tell();
  }
  const waited = (begins.get("w") ?? Number.POSITIVE_INFINITY) - (NOW + 10 * SECOND);
  expect(waited).toBeGreaterThan(0);
  expect(waited).toBeLessThanOrEqual(60 * SECOND + limit + 10 * SECOND);
});
