import fc from "fast-check";
import { expect, test } from "vitest";
import { decide, handOut } from "../../../../src/domain/scheduling/decide/decide.ts";
import { explain } from "../../../../src/domain/scheduling/decide/explain.ts";
import { explainClass } from "../../../../src/domain/scheduling/decide/explain-class.ts";
import type { PoolState } from "../../../../src/domain/scheduling/decide/pool-state.ts";
import type { Claim, ContainerView } from "../../../../src/domain/scheduling/decide/types.ts";
import { sized } from "../../../support/sized.ts";
import { ask, box, busy, container, NOW, poolOf } from "./samples.ts";

const KEY = "l40s story";

const claim = (fields: Partial<Claim> = {}): Claim => ({
  account: "ada",
  hardware: "l40s",
  key: "story",
  gpus: 1,
  min: 1,
  max: null,
  ...fields,
});

const warmUp = (id: string, fields = {}) => ask(id, { warm_up: true, ...fields });

test("an idle container that a claim holds is not stopped for another key", () => {
  const containers = [container("c"), busy("d", "x"), busy("e", "y")];
  const state = poolOf([box("one", { containers })]);
  state.ask(ask("a", { key: "other" }));
  expect(decide(state, NOW)).toMatchObject({ do: "start", stop: ["c"] });
  state.fleet.setClaims([claim()]);
  expect(decide(state, NOW)).toMatchObject({ do: "nothing" });
  state.fleet.setClaims([]);
  expect(decide(state, NOW)).toMatchObject({ do: "start", stop: ["c"] });
});

test("a claim holds the containers that are ready longest, and others of its key can be stopped", () => {
  const containers = [
    container("young", { since: NOW - 1_000 }),
    container("old", { since: NOW - 9_000 }),
    container("starting", { phase: "starting", since: NOW - 90_000 }),
  ];
  const state = poolOf([box("one", { containers })]);
  state.fleet.setClaims([claim({ min: 2 })]);
  state.ask(ask("a", { key: "other" }));
  expect(decide(state, NOW)).toMatchObject({ do: "start", stop: ["starting"] });
});

test("a warm-up starts a container while its claim lacks one, though another of its key is free", () => {
  const state = poolOf([box("one", { containers: [container("c")] })]);
  state.fleet.setClaims([claim({ min: 2 })]);
  state.ask(warmUp("w"));
  expect(decide(state, NOW)).toMatchObject({ do: "start", job: "w", stop: [] });
});

test("a warm-up joins a container if its claim lacks none, and starts none without a claim", () => {
  const state = poolOf([box("one", { containers: [container("c")] })]);
  state.fleet.setClaims([claim()]);
  state.ask(warmUp("w"));
  expect(decide(state, NOW)).toMatchObject({ do: "join", job: "w", container: "c" });
  const empty = poolOf([box("one")]);
  empty.ask(warmUp("w"));
  expect(decide(empty, NOW)).toMatchObject({ do: "nothing" });
});

test("a warm-up comes before jobs of any priority, and stops idle containers for its claim", () => {
  const containers = [busy("d", "x"), busy("e", "y"), container("f", { key: "z" })];
  const state = poolOf([box("one", { containers })]);
  state.fleet.setClaims([claim()]);
  state.ask(ask("a", { key: "z", priority: "high" }));
  state.ask(warmUp("w", { priority: "low" }));
  expect(decide(state, NOW)).toMatchObject({ do: "start", job: "w", stop: ["f"] });
});

test("a claim on a box whose containers are never idle is met by a reservation", () => {
  const shared = (users: number) =>
    container("c", { key: "x", users, max_concurrency: 32, runs: [NOW] });
  const state = poolOf([box("one", { gpus: 1, containers: [shared(1)] })]);
  state.fleet.setClaims([claim()]);
  state.ask(warmUp("w"));
  const later = NOW + 60_000;
  const { notes } = decide(state, later);
  expect(notes.reservations).toMatchObject([{ job: "w", box: "one" }]);
  handOut(state, later);
  state.ask(ask("a", { key: "x", max_concurrency: 32, at: later }));
  expect(decide(state, later)).toMatchObject({ do: "nothing" });
});

test("a container on a box that holds no claims does not count for one", () => {
  const state = poolOf([box("one", { containers: [container("c")] }), box("two")]);
  state.fleet.setClaims([claim()]);
  expect(state.fleet.lacking(KEY)).toBe(0);
  state.setTakes("one", false);
  expect(state.fleet.lacking(KEY)).toBe(1);
  state.ask(warmUp("w"));
  expect(decide(state, NOW)).toMatchObject({ do: "start", box: "two" });
  state.setTakes("one", true);
  expect(state.fleet.lacking(KEY)).toBe(0);
  state.leave("one", NOW);
  expect(state.fleet.lacking(KEY)).toBe(1);
});

test("a key has at most as many containers as its claim allows, and no box is reserved for more", () => {
  const state = poolOf([box("one", { containers: [busy("c", "story")] })]);
  state.fleet.setClaims([claim({ min: 0, max: 1 })]);
  state.ask(ask("a"));
  const later = NOW + 600_000;
  expect(handOut(state, later).handouts).toEqual([]);
  expect(state.reservations.size).toBe(0);
  state.fleet.setClaims([claim({ min: 0, max: 2 })]);
  // At first it waits for the container that is there.
  expect(handOut(state, later).handouts).toEqual([]);
  expect(handOut(state, later + 600_000).handouts).toHaveLength(1);
});

test.each(["normal", "high"] as const)(
  "jobs of priority %s that wait for a key with all its containers keep no others from starting",
  (priority) => {
    const state = poolOf([box("one", { containers: [busy("c", "story")] })]);
    state.fleet.setClaims([claim({ account: "eve", min: 0, max: 1 })]);
    for (let n = 0; n < 300; n++) state.ask(ask(`e${n}`, { account: "eve", priority }));
    state.ask(ask("a", { key: "other" }));
    expect(handOut(state, NOW).handouts.map(({ ask }) => ask.id)).toEqual(["a"]);
  },
);

test("a box is reserved for a wide job behind one whose key has all its containers", () => {
  const containers = [busy("c", "x"), busy("d", "y")];
  const state = poolOf([box("one", { containers })]);
  state.fleet.setClaims([claim({ account: "eve", gpus: 2, min: 0, max: 0 })]);
  state.ask(ask("e", { account: "eve", gpus: 2 }));
  state.ask(ask("wide", { key: "other", gpus: 2 }));
  handOut(state, NOW);
  handOut(state, NOW + 61_000);
  expect([...state.reservations.values()]).toMatchObject([{ job: "wide" }]);
});

test("the jobs of a claim fill its containers, whatever share its account has", () => {
  const containers = [container("c"), container("d"), busy("e", "x")];
  const state = poolOf([box("one", { containers })], { account_share: 0.1 });
  state.fleet.setClaims([claim({ min: 2 })]);
  state.ask(ask("other", { account: "bob", key: "y" }));
  for (const id of ["a", "b"]) state.ask(ask(id));
  expect(handOut(state, NOW).handouts.map(({ ask }) => ask.id)).toEqual(["a", "b"]);
});

test("waiting jobs of a claim count for its account, and explanations name that", () => {
  const state = poolOf([box("one", { containers: [busy("c", "story")] })]);
  state.fleet.setClaims([claim({ max: 1 })]);
  state.ask(ask("a"));
  expect(state.waitingOf("ada")).toBe(1);
  expect(explainClass(state, "l40s", NOW)?.by_account).toMatchObject([{ account: "ada", jobs: 1 }]);
});

test("a job that needs the GPUs of a claim is told how many its box has beside it", () => {
  const state = poolOf([box("one", { gpus: 2, containers: [container("c")] })]);
  state.fleet.setClaims([claim()]);
  state.ask(ask("a", { key: "other", gpus: 2 }));
  expect(explain(state, "a", NOW)?.reason).toEqual({ why: "too-small", gpus: 2, most: 1 });
});

const step = fc.record({
  what: fc.constantFrom("ask", "ask", "warm", "advance", "lose"),
  box: fc.nat({ max: 1 }),
  key: fc.constantFrom("story", "voice", "image", "text"),
});

/** The containers of two boxes. */
class TrueFleet {
  readonly boxes = [new Map<string, ContainerView>(), new Map<string, ContainerView>()];
  readonly #handed = [0, 0];
  readonly #jobs = [new Map<string, number>(), new Map<string, number>()];

  report(state: PoolState, n: number): void {
    const containers = [...(this.boxes[n]?.values() ?? [])];
    const handouts = [...(this.#jobs[n]?.values() ?? [])];
    state.report(box(`${n}`, { containers, handouts, handed: this.#handed[n] ?? 0 }), NOW);
  }

  hand(state: PoolState): string[] {
    const started: string[] = [];
    for (const { box: id, ask, container: name, starts, stop, number } of handOut(state, NOW)
      .handouts) {
      const n = Number(id);
      this.#handed[n] = number;
      for (const one of stop) this.boxes[n]?.delete(one);
      if (starts) {
        const what = { key: ask.key, phase: "starting" as const, since: number };
        this.boxes[n]?.set(name, container(name, what));
        if (ask.warm_up) started.push(ask.key);
      }
      const joined = this.boxes[n]?.get(name);
      if (!joined) throw new Error("a hand-out to no container");
      joined.users += 1;
      this.#jobs[n]?.set(name, number);
      this.report(state, n);
    }
    return started;
  }

  /** Each container of a box is ready, or its run ends. */
  advance(n: number): void {
    for (const [name, one] of this.boxes[n] ?? []) {
      if (one.phase === "starting") one.phase = "ready";
      else if (one.users > 0) {
        one.users -= 1;
        this.#jobs[n]?.delete(name);
      }
    }
  }

  lose(n: number): void {
    this.boxes[n]?.clear();
    this.#jobs[n]?.clear();
  }

  count(key: string): number {
    return this.boxes.flatMap((one) => [...one.values()]).filter((one) => one.key === key).length;
  }
}

test("claims lose containers only with their box, are met again, and never more than met", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80, size: "max" }), (steps) => {
      const claims = [claim({ min: 2 }), claim({ key: "voice", min: 1, max: 2 })];
      const state = poolOf([box("0"), box("1")]);
      const fleet = new TrueFleet();
      state.fleet.setClaims(claims);
      let [asked, lost] = [0, 0];
      const warm = new Map<string, number>();
      const hand = () => {
        for (const key of fleet.hand(state)) warm.set(key, (warm.get(key) ?? 0) + 1);
      };
      const missing = ({ key, hardware }: Claim) => {
        const queued = [...state.line.warmUps].filter((job) => job.ask.key === key).length;
        return Math.max(0, state.fleet.lacking(`${hardware} ${key}`) - queued);
      };
      const warmAll = () => {
        for (const one of claims)
          for (let n = missing(one); n > 0; n -= 1) {
            asked += 1;
            state.ask(warmUp(`${asked}`, { key: one.key }));
          }
      };
      for (const { what, box: n, key } of steps) {
        const before = new Map(claims.map((one) => [one.key, fleet.count(one.key)]));
        asked += 1;
        if (what === "ask") state.ask(ask(`${asked}`, { key, account: `account-${n}` }));
        // A warm-up too many must do no harm.
        else if (what === "warm") state.ask(warmUp(`${asked}`, { key: n ? "story" : "voice" }));
        else if (what === "advance") fleet.advance(n);
        else {
          fleet.lose(n);
          lost += 1;
        }
        fleet.report(state, n);
        hand();
        for (const { key, min } of claims) {
          const kept = Math.min(min, before.get(key) ?? 0);
          if (what !== "lose") expect(fleet.count(key)).toBeGreaterThanOrEqual(kept);
        }
        expect(fleet.count("voice")).toBeLessThanOrEqual(2);
      }
      for (
        let n = 0;
        n < 200 && (state.waiting > 0 || claims.some((one) => missing(one) > 0));
        n += 1
      ) {
        warmAll();
        for (const id of [0, 1]) {
          fleet.advance(id);
          fleet.report(state, id);
        }
        hand();
      }
      expect(state.waiting).toBe(0);
      for (const { key, min } of claims) {
        expect(fleet.count(key)).toBeGreaterThanOrEqual(min);
        expect(warm.get(key) ?? 0).toBeLessThanOrEqual(min * (1 + lost));
      }
    }),
    { numRuns: sized(200, 2_000) },
  );
});
