import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type ClassLine,
  Line,
  levelOf,
  RISE_MS,
  type TurnOf,
} from "../../../../src/domain/scheduling/decide/line.ts";
import type { Ask } from "../../../../src/domain/scheduling/decide/types.ts";
import { ask, NOW } from "./samples.ts";

const inTurn: TurnOf = () => "in turn";

function lineOf(...asks: [id: string, fields?: Partial<Ask>][]): Line {
  const line = new Line();
  for (const [id, fields] of asks) line.add(ask(id, { account: id[0] ?? "", ...fields }));
  return line;
}

function orderOf(line: Line, now = NOW, turnOf = inTurn): string[] {
  const found: ClassLine | undefined = line.classes.get("l40s");
  return [...(found?.order(now, turnOf) ?? [])].map((job) => job.ask.id);
}

test("accounts take turns, and jobs within one account are first in, first out", () => {
  const line = lineOf(["a1"], ["a2"], ["a3"], ["b1"], ["b2"], ["c1"]);
  expect(orderOf(line)).toEqual(["a1", "b1", "c1", "a2", "b2", "a3"]);
});

test("an account that had a turn comes last", () => {
  const line = lineOf(["a1"], ["a2"], ["b1"], ["b2"]);
  const gone = line.remove("a1");
  if (gone) line.passTurn(gone.ask);
  expect(orderOf(line)).toEqual(["b1", "a2", "b2"]);
});

test("a job with a higher priority comes first, whichever account asks", () => {
  const line = lineOf(
    ["a1", { priority: "low" }],
    ["a2"],
    ["b1", { priority: "high" }],
    ["b2", { priority: "low" }],
  );
  expect(orderOf(line)).toEqual(["b1", "a2", "a1", "b2"]);
});

test("a low priority counts as normal after ten minutes, at its place among its account's jobs", () => {
  const early = { priority: "low", at: NOW - RISE_MS } as const;
  const line = lineOf(["a0"], ["a1", early], ["a2"], ["a3", { priority: "low" }], ["b1"]);
  expect(orderOf(line, NOW - 1)).toEqual(["a0", "b1", "a2", "a1", "a3"]);
  expect(orderOf(line)).toEqual(["a0", "b1", "a1", "a2", "a3"]);
  expect(levelOf(ask("x", early), NOW)).toBe("normal");
});

test("accounts that stand behind come last within their priority, and others are left out", () => {
  const line = lineOf(["a1"], ["a2", { priority: "low" }], ["b1"], ["c1", { priority: "low" }]);
  const behind: TurnOf = (account) => (account === "a" ? "behind" : "in turn");
  expect(orderOf(line, NOW, behind)).toEqual(["b1", "a1", "c1", "a2"]);
  const out: TurnOf = (account) => (account === "b" ? "out" : "in turn");
  expect(orderOf(line, NOW, out)).toEqual(["a1", "a2", "c1"]);
});

test("each remaining job has one place and never overtakes its account's jobs, whatever comes and goes", () => {
  const step = fc.record({
    what: fc.constantFrom("add", "remove", "return"),
    account: fc.constantFrom("a", "b", "c"),
    number: fc.nat(4),
    priority: fc.constantFrom("low" as const, "normal" as const, "high" as const),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const line = new Line();
      const inside = new Set<string>();
      for (const { what, account, number, priority } of steps) {
        const id = `${account}${number}`;
        if (what === "add") line.add(ask(id, { account, priority }));
        const gone = what === "add" ? undefined : line.remove(id);
        if (gone && what === "return") line.giveBack(gone);
        if (what === "remove") inside.delete(id);
        else if (what === "add") inside.add(id);
      }
      const order = orderOf(line);
      expect(order.toSorted()).toEqual([...inside].toSorted());
      expect(line.size).toBe(inside.size);
      const places = order.map((id) => line.get(id));
      for (const [n, one] of places.entries()) {
        const sooner = places
          .slice(0, n)
          .filter(
            (other) =>
              other?.ask.account === one?.ask.account && other?.ask.priority === one?.ask.priority,
          );
        for (const other of sooner) expect(other?.position).toBeLessThan(one?.position ?? 0);
      }
    }),
  );
});
