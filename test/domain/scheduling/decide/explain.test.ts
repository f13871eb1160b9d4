import { expect, test } from "vitest";
import { handOut } from "../../../../src/domain/scheduling/decide/decide.ts";
import { explain } from "../../../../src/domain/scheduling/decide/explain.ts";
import { Forecasts } from "../../../../src/domain/scheduling/decide/forecasts.ts";
import type { PoolState } from "../../../../src/domain/scheduling/decide/pool-state.ts";
import { ask, box, busy, container, NOW, poolOf } from "./samples.ts";

/** Adds waits of each kind that took from half to one and a half times the expected time. */
function learned(state: PoolState): PoolState {
  for (const kind of ["start", "container", "slot"] as const)
    for (let n = 0; n <= 10; n += 1) {
      state.forecasts.add({ job: `${kind}${n}`, kind, expected_ms: 1_000 }, NOW);
      state.forecasts.began(`${kind}${n}`, NOW + 500 + n * 100);
    }
  for (const key of ["story", "other"]) state.measured(key, { setup_ms: 60_000, run_ms: 10_000 });
  return state;
}

const reasonOf = (state: PoolState, id: string, now = NOW) => {
  handOut(state, now);
  return explain(state, id, now)?.reason;
};

test("a job waits because no box serves its class", () => {
  const state = poolOf([box("one")]);
  state.ask(ask("a", { hardware: "a100" }));
  expect(reasonOf(state, "a")).toEqual({ why: "no-box", hardware: "a100" });
});

test("a job waits for busy boxes, with its place and the number of accounts before it", () => {
  const state = poolOf([box("one", { gpus: 1, containers: [busy("c", "x")] })]);
  for (const [id, account] of [
    ["a1", "ada"],
    ["a2", "ada"],
    ["b1", "bob"],
    ["c1", "cy"],
  ] as const)
    state.ask(ask(id, { account, key: id }));
  expect(reasonOf(state, "a2")).toEqual({
    why: "busy",
    gpus: 1,
    position: 4,
    accounts: 2,
    reserved: [],
  });
});

test("a job is held for a container that is busy or starts", () => {
  const state = learned(poolOf([box("one", { containers: [busy("c", "story", NOW - 4_000)] })]));
  state.ask(ask("a"));
  expect(reasonOf(state, "a")).toEqual({
    why: "held",
    box: "one",
    container: "c",
    phase: "ready",
    until: NOW + 9_000,
  });
  // The run of 6 s is expected to end.
  expect(explain(state, "a", NOW)?.range).toEqual({ p10_ms: 3_600, p50_ms: 6_000, p90_ms: 8_400 });
});

test("a job waits for its container that starts in the place of another", () => {
  const state = learned(
    poolOf([box("one", { gpus: 1, containers: [container("c", { key: "old" })] })]),
  );
  state.ask(ask("a"));
  expect(reasonOf(state, "a")).toEqual({ why: "starting", box: "one", stopped: ["old"] });
  expect(explain(state, "a", NOW + 50_000)?.range).toEqual({
    p10_ms: 0,
    p50_ms: 10_000,
    p90_ms: 34_000,
  });
});

test("a job waits because its account has its share", () => {
  const state = poolOf([box("one", { gpus: 4 })]);
  state.ask(ask("b", { account: "bob", key: "b" }));
  for (const id of ["a1", "a2", "a3"]) state.ask(ask(id, { key: id }));
  expect(reasonOf(state, "a3")).toEqual({ why: "share", held: 2, most: 2 });
});

test("a job waits for the box that is kept for it, and other jobs are told so", () => {
  const classes = ["l40s", "l40s-x2"];
  const containers = [busy("c", "story"), busy("d", "story")];
  const state = learned(
    poolOf([box("one", { gpus: 2, classes, containers })], { reserve_ms: 0, account_share: 1 }),
  );
  state.ask(ask("w", { hardware: "l40s-x2", gpus: 2, key: "wide", account: "w" }));
  state.ask(ask("a"));
  expect(reasonOf(state, "w")).toMatchObject({ why: "reserved", box: "one" });
  expect(explain(state, "a", NOW)?.reason).toMatchObject({ why: "busy", reserved: ["one"] });
});

test("a job waits because every box has declined it", () => {
  const state = poolOf([box("one")]);
  state.ask(ask("a"));
  const [handout] = handOut(state, NOW).handouts;
  state.dropped("one", handout?.number ?? 0, NOW);
  state.exclude("a", "one", NOW);
  expect(reasonOf(state, "a")).toEqual({ why: "declined", boxes: ["one"] });
});

test("a job that runs or is unknown has no reason to wait", () => {
  const state = poolOf([box("one", { containers: [container("c")] })]);
  state.ask(ask("a"));
  expect(reasonOf(state, "a")).toBeUndefined();
  expect(explain(state, "unknown", NOW)).toBeUndefined();
});

test("a job whose container has become ready waits no longer, and its wait was measured", () => {
  const state = poolOf([box("one")]);
  for (let n = 0; n < 5; n += 1) {
    state.ask(ask(`${n}`));
    const [handout] = handOut(state, NOW).handouts;
    const handed = handout?.number ?? 0;
    expect(explain(state, `${n}`, NOW)).toMatchObject({ range: "unknown" });
    const at = NOW + 15_000;
    const ready = { ...busy("c", "story", at), since: at };
    state.report(box("one", { handed, handouts: [handed], containers: [ready] }), at);
    expect(explain(state, `${n}`, at)).toBeUndefined();
    state.report(box("one", { handed }), at);
  }
  // The expected wait was 30 s, without any measure.
  expect(state.forecasts.range("start", 30_000)).toMatchObject({ p50_ms: 15_000 });
});

test("the second of two jobs with starting containers goes on when the first container is ready", () => {
  const state = poolOf([box("one")], { account_share: 1 });
  // `run_ms` is so long that no job waits for a container that starts.
  state.measured("story", { setup_ms: 1_000, run_ms: 60_000 });
  const numbers = ["a", "b"].map((id, n) => {
    const at = NOW + n * 10_000;
    state.ask(ask(id, { at }));
    return handOut(state, at).handouts[0]?.number ?? 0;
  });
  const at = NOW + 15_000;
  const starting = (name: string, since: number) =>
    container(name, { phase: "starting", users: 1, since });
  const told = (...containers: ReturnType<typeof container>[]) =>
    state.report(box("one", { handed: numbers[1] ?? 0, handouts: numbers, containers }), at);
  told(starting("c", NOW), starting("d", NOW + 10_000));
  told({ ...busy("c", "story", at), since: at }, starting("d", NOW + 10_000));
  expect(explain(state, "a", at)).toBeUndefined();
  expect(explain(state, "b", at)?.reason).toMatchObject({ why: "starting" });
  told({ ...busy("c", "story", at), since: at }, { ...busy("d", "story", at), since: at });
  expect(explain(state, "b", at)).toBeUndefined();
});

test("a wait with fewer than five measures has no range", () => {
  const forecasts = new Forecasts();
  for (let n = 0; n < 5; n += 1) {
    expect(forecasts.range("slot", 1_000)).toBeUndefined();
    forecasts.add({ job: `${n}`, kind: "slot", expected_ms: 1_000 }, NOW);
    forecasts.began(`${n}`, NOW + 2_000);
  }
  expect(forecasts.range("slot", 3_000)?.p50_ms).toBe(6_000);
  expect(forecasts.range("container", 3_000)).toBeUndefined();
});

test("a class without GPUs has places in line, too", () => {
  const state = learned(poolOf([box("one", { gpus: 0, classes: ["cpu"], containers_max: 1 })]));
  const cpu = { hardware: "cpu", gpus: 0 };
  state.ask(ask("a", { ...cpu, key: "other" }));
  handOut(state, NOW);
  state.ask(ask("b", { ...cpu, account: "bob" }));
  handOut(state, NOW);
  // Job `b` waits for a setup and a run of the other key, and for its own setup.
  expect(explain(state, "b", NOW)?.range).toMatchObject({ p50_ms: 130_000 });
});
