/** The levels of an account, and the alerts about them. */
import { expect, test } from "vitest";
import { accountAlerts } from "../../../src/domain/alerts/deployment.ts";
import { isImportant, type Levels, levelsOf } from "../../../src/domain/metrics/levels.ts";
import type { BudgetState } from "../../../src/domain/money/budget.ts";

const budget = (id: string, changes: Partial<BudgetState> = {}): BudgetState => ({
  ...{ id, subject: "", unit: "amount", most: 10e9, window: "month", kind: "hard" },
  ...{ level: "admin", alert_at: 0.8, created_at: 1, updated_at: 1, window_start: 0 },
  ...{ spent: 4e9, reserved: 1e9, alerted_by: "", exhausted_by: "" },
  ...changes,
});

const roomy = { bytes: 1, max_bytes: 100 };

test("an account without hard budgets and with room for its history has no levels", () => {
  expect(levelsOf("ada", [budget("soft", { kind: "alert" })], roomy)).toBeNull();
  expect(levelsOf("ada", [], { bytes: 90, max_bytes: 100 })?.history_percent).toBe(90);
});

test("the first twenty budgets of an account have levels, those of operators and of itself first", () => {
  const many = Array.from({ length: 30 }, (_, n) => budget(`m${n}`, { subject: `member:${n}` }));
  const found = levelsOf(
    "ada",
    [...many, budget("own"), budget("set", { level: "operator", subject: "token:x" })],
    roomy,
  );
  expect(found?.budgets).toHaveLength(20);
  expect(found?.budgets.slice(0, 3).map(({ id }) => id)).toEqual(["set", "own", "m0"]);
  expect(found?.budgets[1]).toMatchObject({ left: 5e9, is_exhausted: false, scope: "account" });
  expect(found && isImportant(found)).toBe(true);
});

test("at most twenty accounts have an alert about budgets, and deleted accounts none", () => {
  const used = (id: string): Levels =>
    levelsOf(id, [budget("b", { exhausted_by: "run", subject: "member:x" })], {
      bytes: 95,
      max_bytes: 100,
    }) ?? expect.fail("no levels");
  const ids = Array.from({ length: 30 }, (_, n) => `u${n}`);
  const names = new Map(ids.map((id) => [id, `name-${id}`]));
  const alerts = accountAlerts([used("gone"), ...ids.map(used)], names, "EUR");
  expect(alerts).toHaveLength(40);
  expect(alerts[0]).toEqual({
    ...{ rule: "history_full", level: "warning", subject: "u0", name: "name-u0" },
    text: "95 % of its space is used.",
  });
  expect(alerts.at(-1)?.text).toBe("Used up: 10 EUR a month of a member.");
});
