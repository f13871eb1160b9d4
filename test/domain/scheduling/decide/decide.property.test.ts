/** Limits of boxes under any asks and late reports: no box is handed more than it has room for. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { handOut } from "../../../../src/domain/scheduling/decide/decide.ts";
import { PoolState } from "../../../../src/domain/scheduling/decide/pool-state.ts";
import type { ContainerView, Handout } from "../../../../src/domain/scheduling/decide/types.ts";
import { sized } from "../../../support/sized.ts";
import { ask, box, NOW } from "./samples.ts";

const GPUS: Record<string, number> = { cpu: 0, l40s: 1, "l40s-x2": 2 };

/** The true state of a box. */
class TrueBox {
  readonly gpus = 3;
  readonly slots = 5;
  readonly containers_max = 4;
  handed = 0;
  readonly containers = new Map<string, ContainerView & { handouts: number[] }>();

  take({ number, ask, container, starts, stop }: Handout): void {
    expect(number).toBeGreaterThan(this.handed);
    this.handed = number;
    for (const id of stop) {
      expect(this.containers.get(id)?.users).toBe(0);
      this.containers.delete(id);
    }
    if (starts) {
      const { key, image, hardware, gpus, max_concurrency } = ask;
      const what = { id: container, key, image, hardware, gpus, max_concurrency, since: NOW };
      const state = { phase: "starting", users: 0, runs: [], handouts: [] } as const;
      this.containers.set(container, { ...what, ...state, handouts: [] });
    }
    const one = this.containers.get(container);
    expect(one).toMatchObject({ key: ask.key, hardware: ask.hardware });
    if (!one) return;
    one.users += 1;
    one.handouts.push(number);
    expect(one.users).toBeLessThanOrEqual(one.max_concurrency);
    const all = [...this.containers.values()];
    expect(all.length).toBeLessThanOrEqual(this.containers_max);
    expect(all.reduce((sum, { gpus }) => sum + gpus, 0)).toBeLessThanOrEqual(this.gpus);
    expect(all.reduce((sum, { users }) => sum + users, 0)).toBeLessThanOrEqual(this.slots);
  }

  /** Advances until the first starting container is ready or the first run ends. */
  advance(now: number): void {
    for (const one of this.containers.values()) {
      if (one.users === 0) continue;
      if (one.phase === "starting") Object.assign(one, { phase: "ready", since: now });
      else {
        one.users -= 1;
        one.handouts.shift();
      }
      return;
    }
  }

  view(id: string) {
    const { gpus, slots, containers_max, handed } = this;
    const containers = [...this.containers.values()];
    const handouts = containers.flatMap((one) => one.handouts);
    const views = containers.map(({ handouts: own, ...one }) => ({
      ...one,
      runs: one.phase === "ready" ? own.map(() => one.since) : [],
    }));
    const what = { gpus, slots, containers_max, handed, handouts, containers: views };
    return box(id, { ...what, classes: Object.keys(GPUS) });
  }
}

const step = fc.record({
  what: fc.constantFrom("ask", "ask", "ask", "advance", "report", "drop", "withdraw"),
  box: fc.constantFrom("one", "two"),
  hardware: fc.constantFrom("cpu", "l40s", "l40s", "l40s-x2"),
  key: fc.constantFrom("story", "voice", "image"),
  account: fc.constantFrom("a", "b", "c"),
  priority: fc.constantFrom("low" as const, "normal" as const, "high" as const),
  ms: fc.integer({ min: 0, max: 90_000 }),
});

test("no box is handed more than it has room for, and every job has run once in the end", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120, size: "max" }), (steps) => {
      const state = new PoolState();
      const boxes = new Map(["one", "two"].map((id) => [id, new TrueBox()]));
      const run = new Map<string, number>();
      const withdrawn = new Set<string>();
      let [now, asked] = [NOW, 0];
      const report = (id: string) => state.report(boxes.get(id)?.view(id) ?? box(id), now);
      /** @param lost the box that is not reached */
      const hand = (lost?: string) => {
        for (const handout of handOut(state, now).handouts) {
          const { id } = handout.ask;
          expect(withdrawn.has(id)).toBe(false);
          if (handout.box === lost) state.dropped(handout.box, handout.number, now);
          else {
            boxes.get(handout.box)?.take(handout);
            run.set(id, (run.get(id) ?? 0) + 1);
          }
        }
      };
      for (const id of boxes.keys()) {
        report(id);
        state.setTakes(id, true);
      }
      for (const { what, box: id, ms, ...fields } of steps) {
        now += ms;
        if (what === "ask") {
          asked += 1;
          const { hardware } = fields;
          const max_concurrency = fields.key === "voice" ? 3 : 1;
          const key = `${hardware} ${fields.key}`;
          state.ask(
            ask(`${asked}`, {
              ...fields,
              key,
              max_concurrency,
              gpus: GPUS[hardware] ?? 0,
              at: now,
            }),
          );
        } else if (what === "advance") boxes.get(id)?.advance(now);
        else if (what === "report") report(id);
        else if (what === "withdraw" && state.has(`${asked}`)) {
          state.withdraw(`${asked}`);
          withdrawn.add(`${asked}`);
        }
        hand(what === "drop" ? id : undefined);
      }
      for (let n = 0; n < 400 && state.waiting > 0; n += 1) {
        now += 30_000;
        for (const [id, one] of boxes) {
          for (let m = 0; m < 4; m += 1) one.advance(now);
          report(id);
        }
        hand();
      }
      expect(state.waiting).toBe(0);
      expect([...run.values()].every((times) => times === 1)).toBe(true);
      expect(run.size).toBe(asked - withdrawn.size);
    }),
    { numRuns: sized(100, 1_000) },
  );
});
