/** Jobs that a box declined are offered there again once it has changed, and ever more rarely. */
import { expect, test } from "vitest";
import { decide, handOut } from "../../../../src/domain/scheduling/decide/decide.ts";
import type { PoolState } from "../../../../src/domain/scheduling/decide/pool-state.ts";
import { ask, box, busy, NOW, poolOf } from "./samples.ts";

/** Hands out the only job that waits. @returns its box and its hand-out number */
function handedOut(state: PoolState, now = NOW): { box: string; number: number } | undefined {
  const { handouts } = handOut(state, now);
  expect(handouts.length).toBeLessThan(2);
  return handouts[0];
}

/** Makes the box decline its last job and wait again. */
function decline(
  state: PoolState,
  name: string,
  fields: Parameters<typeof box>[1] = {},
  now = NOW,
) {
  const number = handedOut(state, now)?.number ?? 0;
  state.report(box(name, { handed: number, declined: [number], ...fields }), now);
}

const other = { containers: [busy("c", "other")] };

test("a declined job is offered elsewhere, and to the box that declined it once that box has changed", () => {
  const state = poolOf([box("one")]);
  state.ask(ask("a"));
  decline(state, "one");
  // The attempt of job `a` is not closed yet.
  expect(state.has("a")).toBe(false);
  expect(decide(state, NOW).do).toBe("nothing");
  state.ask(ask("a"));
  expect(decide(state, NOW).do).toBe("nothing");
  state.report(box("one", { handed: NOW, ...other }), NOW);
  expect(decide(state, NOW)).toMatchObject({ do: "start", job: "a", box: "one" });
});

test("a box that has changed since it declined is asked again, however late the attempt is closed", () => {
  const state = poolOf([box("one", other)]);
  state.ask(ask("a"));
  decline(state, "one", other);
  state.report(box("one", { handed: NOW }), NOW);
  state.ask(ask("a"));
  expect(decide(state, NOW)).toMatchObject({ do: "start", job: "a" });
});

test("a decline of one box is still known when another box declines", () => {
  const state = poolOf([box("one"), box("two")]);
  state.ask(ask("a"));
  decline(state, "one");
  state.ask(ask("a"));
  decline(state, "two");
  state.ask(ask("a"));
  expect(decide(state, NOW).do).toBe("nothing");
});

test("a job that was declined keeps its place, and counts once", () => {
  const state = poolOf([box("one", { gpus: 1 })]);
  state.ask(ask("a", { key: "a" }));
  const number = handedOut(state)?.number ?? 0;
  state.ask(ask("b", { key: "b" }));
  state.report(box("one", { gpus: 1, handed: number, declined: [number] }), NOW);
  expect(state.shares.jobs("l40s", "ada")).toBe(0);
  state.ask(ask("a", { key: "a" }));
  expect(state.demand.of("a", NOW)).toBe(1);
  state.report(box("one", { gpus: 1, slots: 1, handed: number }), NOW);
  expect(decide(state, NOW)).toMatchObject({ do: "start", job: "a" });
});

test("a declined job that is over when its attempt is closed is forgotten", () => {
  const state = poolOf([box("one")]);
  state.ask(ask("a"));
  decline(state, "one");
  state.withdraw("a");
  state.ask(ask("a"));
  expect(decide(state, NOW)).toMatchObject({ do: "start", job: "a" });
});

test("a box that declines a job again and again is asked ever more rarely, whatever it reports", () => {
  const state = poolOf([box("one")]);
  state.ask(ask("a"));
  const asked: number[] = [];
  let now = NOW;
  for (let n = 0; n < 10; n++) {
    const changed = { slots: 100 + n };
    const before = now;
    decline(state, "one", changed, now);
    state.ask(ask("a"));
    state.report(box("one", { handed: now, slots: 200 + n }), now);
    const decision = decide(state, now);
    if (decision.do === "nothing") now = decision.until ?? Number.NaN;
    asked.push((now - before) / 1_000);
  }
  expect(asked).toEqual([0, 1, 2, 4, 8, 16, 32, 60, 60, 60]);
});
