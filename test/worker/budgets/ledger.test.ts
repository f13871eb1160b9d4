/** The ledger of an account: random sequences of what predictions and people do with it. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { type BudgetRow, windowEnd, windowStart } from "../../../src/domain/money/budget.ts";
import { Ledger } from "../../../src/objects/account/ledger.ts";
import { createTables } from "../../../src/objects/account/tables.ts";
import { sized } from "../../support/sized.ts";

const DAY = 86_400_000;
const START = Date.UTC(2026, 10, 29, 12);

const inLedger = (work: (sql: SqlStorage) => void) =>
  runInDurableObject(env.ACCOUNT.get(env.ACCOUNT.newUniqueId()), (_, { storage }) => {
    createTables(storage.sql);
    work(storage.sql);
  });

const budget = (changes: Partial<BudgetRow> = {}): BudgetRow => ({
  id: "b",
  subject: "",
  unit: "amount",
  most: 100,
  window: "total",
  kind: "hard",
  level: "admin",
  alert_at: 0.8,
  created_at: START,
  updated_at: START,
  ...changes,
});

const request = (id: string, amount: number, changes: object = {}) => ({
  ...{ id, object_id: "o", token_id: "t", maker: "", client_id: "" },
  ...{ amount, least: amount, max_running: null },
  ...changes,
});
const ended = (id: string, cost: number, created_at = START) => ({
  ...{ id, token_id: "t", maker: "", client_id: "", created_at, cost },
});

/** Numbers from 0 to 1 that are the same in every run. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

test("spent and reserved never exceed a hard limit, and nothing is reserved once all has ended", async () => {
  await inLedger((sql) => {
    for (let seed = 1; seed <= sized(20, 60); seed++) {
      sql.exec("DELETE FROM budgets");
      sql.exec("DELETE FROM reservations");
      const next = random(seed);
      const pick = <Item>(items: readonly Item[]) =>
        items[Math.floor(next() * items.length)] ?? expect.fail("nothing to pick");
      let now = START;
      let ledger = new Ledger(sql, now);
      const makers = ["", "m1", "m2"];
      const tokens = ["", "t1", "t2", "t3"];
      const subjects = ["", "member:m1", "member:m2", "token:t1", "token:t2"];
      for (const [n, subject] of subjects.entries())
        ledger.set(
          budget({
            id: `b${n}`,
            subject,
            most: Math.floor(next() * 200),
            window: pick(["day", "week", "month", "total"]),
            kind: n === 1 ? "alert" : "hard",
          }),
          now,
        );
      const open = new Map<string, { reserved: number; token_id: string; maker: string }>();
      const check = () => {
        for (const one of ledger.list(now))
          if (one.kind === "hard") expect(one.spent + one.reserved).toBeLessThanOrEqual(one.most);
      };
      for (let step = 0; step < 120; step++) {
        const [id = "", one] = [...open][Math.floor(next() * open.size)] ?? [];
        const action = next();
        if (action < 0.45) {
          const spender = { token_id: pick(tokens), maker: pick(makers) };
          const amount = Math.floor(next() * 40);
          const least = Math.floor(next() * (amount + 1));
          const wanted = { ...request(`p${step}`, amount), least, ...spender };
          const refusal = ledger.refusal(wanted, now);
          const result = ledger.reserve(wanted, now);
          expect("reserved" in result).toBe(refusal === undefined);
          if ("reserved" in result) {
            if (result.reserved !== null) {
              expect(result.reserved).toBeGreaterThanOrEqual(least);
              expect(result.reserved).toBeLessThanOrEqual(amount);
            }
            // A repeated call changes nothing.
            expect(ledger.reserve(wanted, now)).toEqual(result);
            open.set(wanted.id, { reserved: result.reserved ?? 0, ...spender });
          }
        } else if (one && action < 0.6) {
          const total = ledger.extend(id, "o", one.reserved + Math.floor(next() * 30), now);
          if (total !== undefined) open.set(id, { ...one, reserved: total });
        } else if (one && action < 0.85) {
          const { token_id, maker, reserved } = one;
          ledger.settle(
            {
              id,
              token_id,
              maker,
              client_id: "",
              created_at: now,
              cost: Math.floor(next() * reserved),
            },
            now,
          );
          open.delete(id);
        } else if (one && action < 0.9) {
          ledger.release(id, "another object");
          ledger.release(id, "o");
          open.delete(id);
        } else if (action < 0.95) {
          // The object restarts, and knows what it has stored.
          const before = ledger.list(now);
          ledger = new Ledger(sql, now);
          expect(ledger.list(now)).toEqual(before);
        } else now += Math.floor(next() * 3 * DAY);
        check();
      }
      for (const [id, { token_id, maker, reserved }] of open)
        ledger.settle({ id, token_id, maker, client_id: "", created_at: now, cost: reserved }, now);
      check();
      expect(ledger.list(now).map(({ reserved }) => reserved)).toEqual([0, 0, 0, 0, 0]);
      expect(sql.exec("SELECT * FROM reservations").toArray()).toEqual([]);
    }
  });
});

test("a reservation counts for its token, its member and its account, and the narrowest refuses first", async () => {
  await inLedger((sql) => {
    const ledger = new Ledger(sql, START);
    ledger.set(budget({ id: "account", most: 50 }), START);
    ledger.set(budget({ id: "token", subject: "token:t", most: 30 }), START);
    expect(ledger.reserve(request("a", 25), START)).toEqual({ reserved: 25 });
    expect(ledger.reserve(request("b", 10), START)).toMatchObject({
      budget: { id: "token" },
      needed: 10,
    });
    const other = { token_id: "u" };
    expect(ledger.reserve(request("c", 26, other), START)).toMatchObject({
      budget: { id: "account" },
    });
    expect(ledger.reserve(request("c", 25, other), START)).toEqual({ reserved: 25 });
    ledger.settle(ended("a", 5), START);
    expect(ledger.list(START)).toMatchObject([
      { id: "account", spent: 5, reserved: 25 },
      { id: "token", spent: 5, reserved: 0 },
    ]);
  });
});

test("a run begins with what its budgets have left, if that is the least that it needs", async () => {
  await inLedger((sql) => {
    const ledger = new Ledger(sql, START);
    ledger.set(budget({ id: "account", most: 70 }), START);
    ledger.set(budget({ id: "token", subject: "token:t", most: 50 }), START);
    const long = { least: 20 };
    expect(ledger.reserve(request("a", 100, long), START)).toEqual({ reserved: 50 });
    expect(ledger.reserve(request("b", 100, long), START)).toMatchObject({
      budget: { id: "token" },
      needed: 20,
    });
    const other = { ...long, token_id: "u" };
    expect(ledger.reserve(request("c", 100, other), START)).toEqual({ reserved: 20 });
    // Nothing is left that a run could be extended by.
    expect(ledger.extend("a", "o", 100, START)).toBe(50);
    ledger.settle({ ...ended("c", 5), token_id: "u" }, START);
    expect(ledger.reserve(request("d", 100, other), START)).toMatchObject({
      budget: { id: "account" },
    });
  });
});

test("a budget is exhausted when less is left than another such run needs, and tells of its alert first", async () => {
  await inLedger((sql) => {
    const ledger = new Ledger(sql, START);
    const told = (id: string) =>
      ledger.crossedBy(ended(id, 0)).map(({ event, budget }) => [event, budget.spent]);
    ledger.set(budget({ alert_at: 0.9 }), START);
    for (const [id, cost] of [["a", 70] as const, ["b", 15] as const]) {
      ledger.reserve(request(id, 100, { least: 20 }), START);
      ledger.settle(ended(id, cost), START);
    }
    expect(told("a")).toEqual([]);
    expect(told("b")).toEqual([
      ["budget.alert", 85],
      ["budget.exhausted", 85],
    ]);
  });
});

test("a second object of a prediction takes over its reservation, and the first can no longer free it", async () => {
  await inLedger((sql) => {
    const ledger = new Ledger(sql, START);
    ledger.set(budget(), START);
    ledger.reserve(request("a", 60), START);
    expect(ledger.reserve(request("a", 60, { object_id: "second" }), START)).toEqual({
      reserved: 60,
    });
    ledger.release("a", "o");
    expect(ledger.list(START)).toMatchObject([{ reserved: 60 }]);
    expect(ledger.extend("a", "o", 90, START)).toBeUndefined();
    expect(ledger.extend("a", "second", 300, START)).toBe(100);
  });
});

test("a run counts in the window of its create, whenever it ends", async () => {
  await inLedger((sql) => {
    const midnight = windowEnd("day", windowStart("day", START)) ?? expect.fail("a day ends");
    const ledger = new Ledger(sql, START);
    ledger.set(budget({ window: "day" }), START);
    ledger.reserve(request("evening", 70), midnight - 1);
    expect(ledger.reserve(request("refused", 70), midnight - 1)).toMatchObject({
      resets_at: midnight,
    });
    expect(ledger.reserve(request("morning", 70), midnight)).toEqual({ reserved: 70 });
    ledger.settle(ended("evening", 70), midnight + 1);
    expect(ledger.list(midnight + 1)).toMatchObject([{ spent: 0, reserved: 70 }]);
    // The object restarts before the new window has been stored.
    expect(new Ledger(sql, midnight + 2).list(midnight + 2)).toMatchObject([
      { spent: 0, reserved: 70 },
    ]);
  });
});

test("a run from before a budget counts when it ends, and does not limit what is reserved", async () => {
  await inLedger((sql) => {
    const ledger = new Ledger(sql, START);
    ledger.set(budget({ id: "old", most: 1_000 }), START);
    ledger.reserve(request("a", 90), START);
    ledger.set(budget({ id: "new", created_at: START + 1 }), START + 1);
    expect(ledger.list(START + 1)).toMatchObject([{ reserved: 90 }, { reserved: 0 }]);
    ledger.settle(ended("a", 40), START + 2);
    ledger.settle(ended("unreserved", 7, START - DAY), START + 2);
    expect(ledger.list(START + 2)).toMatchObject([{ spent: 47 }, { spent: 47 }]);
  });
});

test("a changed limit keeps what is spent, and a hard budget that was an alert counts what is open", async () => {
  await inLedger((sql) => {
    const ledger = new Ledger(sql, START);
    ledger.set(budget({ id: "other", most: 1_000 }), START);
    ledger.set(budget({ kind: "alert" }), START);
    ledger.reserve(request("a", 90), START);
    ledger.settle(ended("b", 30), START);
    ledger.set(budget({ most: 110, kind: "hard" }), START);
    expect(ledger.list(START)).toContainEqual(
      expect.objectContaining({ id: "b", spent: 30, reserved: 90 }),
    );
    // More is used than the lowered limit: nothing is left, and a run without a cost is still admitted.
    expect(ledger.reserve(request("c", 1), START)).toMatchObject({ needed: 1 });
    expect(ledger.reserve(request("d", 0), START)).toEqual({ reserved: 0 });
  });
});

test("a token runs as many predictions at a time as it may, whatever they cost", async () => {
  await inLedger((sql) => {
    const ledger = new Ledger(sql, START);
    const limited = (id: string) => ledger.reserve(request(id, 5, { max_running: 2 }), START);
    expect([limited("a"), limited("b")]).toEqual([{ reserved: null }, { reserved: null }]);
    expect(limited("c")).toEqual({ running: 2 });
    expect(ledger.reserve(request("d", 5, { token_id: "u", max_running: 2 }), START)).toEqual({
      reserved: null,
    });
    ledger.settle(ended("a", 3), START);
    expect(limited("c")).toEqual({ reserved: null });
  });
});

test("a client token's predictions and amount are counted from its first prediction on, until it has long expired", async () => {
  await inLedger((sql) => {
    const ledger = new Ledger(sql, START);
    const client = { id: "c", max_predictions: 2, budget: 50 };
    const use = (id: string, amount: number) => {
      ledger.addClient(client, START);
      return ledger.reserve(request(id, amount, { client_id: "c" }), START);
    };
    expect(use("a", 30)).toEqual({ reserved: 30 });
    expect(use("b", 30)).toMatchObject({ budget: { unit: "amount" } });
    expect(use("b", 20)).toEqual({ reserved: 20 });
    ledger.settle({ ...ended("a", 1), client_id: "c" }, START);
    expect(use("c", 1)).toMatchObject({ budget: { unit: "runs", most: 2 } });
    expect(ledger.list(START)).toEqual([]);
    ledger.addClient({ ...client, id: "later" }, START + DAY);
    expect(sql.exec("SELECT DISTINCT subject FROM budgets").toArray()).toEqual([
      { subject: "client:later" },
    ]);
  });
});

test.each([
  ["day", "2026-11-29T00:00:00Z", "2026-11-30T00:00:00Z"],
  ["week", "2026-11-23T00:00:00Z", "2026-11-30T00:00:00Z"],
  ["month", "2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z"],
] as const)(
  "the %s of a Sunday noon begins at midnight UTC, and ends with the next",
  (window, from, to) => {
    const start = windowStart(window, START);
    expect([start, windowEnd(window, start)]).toEqual([Date.parse(from), Date.parse(to)]);
    expect(windowStart(window, Date.parse(to) - 1)).toBe(start);
    expect(windowStart(window, Date.parse(to))).toBe(Date.parse(to));
  },
);

test("a run that is extended after the end of its window counts in the present one", async () => {
  await inLedger((sql) => {
    const ledger = new Ledger(sql, START);
    ledger.set(budget({ window: "day" }), START);
    for (const id of ["p1", "p2", "p3"])
      expect(ledger.reserve(request(id, 10), START)).toEqual({ reserved: 10 });
    const now = START + DAY;
    expect(ledger.extend("p1", "o", 70, now)).toBe(70);
    expect(ledger.list(now)).toMatchObject([{ spent: 0, reserved: 70 }]);
    expect(ledger.extend("p2", "o", 70, now)).toBe(30);
    // Nothing is left of the day: the third has what it was admitted with.
    expect(ledger.extend("p3", "o", 70, now)).toBe(10);
    for (const [id, cost] of [["p1", 70] as const, ["p2", 30] as const, ["p3", 10] as const])
      ledger.settle(ended(id, cost), now);
    expect(ledger.list(now)).toMatchObject([{ spent: 100, reserved: 0 }]);
  });
});

test("a late call of the first object does not take the reservation of the second", async () => {
  await inLedger((sql) => {
    const ledger = new Ledger(sql, START);
    ledger.set(budget(), START);
    ledger.reserve(request("p1", 60, { object_id: "second" }), START);
    const late = ledger.reserve(request("p1", 110, { object_id: "first" }), START);
    expect(late).toMatchObject({ needed: 110 });
    expect(ledger.list(START)).toMatchObject([{ reserved: 60 }]);
    expect(new Ledger(sql, START).list(START)).toMatchObject([{ reserved: 60 }]);
  });
});

test("an account with a thousand client tokens loads its ledger at once", async () => {
  await inLedger((sql) => {
    const ledger = new Ledger(sql, START);
    ledger.set(budget({ most: 10_000 }), START);
    for (let n = 0; n < 1_000; n++)
      ledger.addClient({ id: `c${n}`, max_predictions: 2, budget: 50 }, START);
    for (let n = 0; n < 200; n++)
      ledger.reserve(request(`p${n}`, 10, { client_id: `c${n}` }), START);
    expect(new Ledger(sql, START).list(START)).toMatchObject([{ reserved: 2_000 }]);
  });
});

test("the limits of a client token are not told as budgets of the account", async () => {
  await inLedger((sql) => {
    const ledger = new Ledger(sql, START);
    const client = { token_id: "t", maker: "", client_id: "c1" };
    ledger.addClient({ id: "c1", max_predictions: 1, budget: 10 }, START);
    ledger.reserve({ ...request("p1", 10), ...client }, START);
    ledger.settle({ ...ended("p1", 10), ...client }, START);
    expect(ledger.crossedBy({ id: "p1", ...client })).toEqual([]);
  });
});
