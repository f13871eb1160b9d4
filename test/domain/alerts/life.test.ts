/** When alerts begin and end, and which messages are due. */
import { expect, test } from "vitest";
import {
  type AlertRow,
  changesOf,
  messageDue,
  messageId,
} from "../../../src/domain/alerts/life.ts";
import type { Alert } from "../../../src/domain/alerts/rules.ts";

const MINUTE = 60_000;
const DAY = 86_400_000;
const NOW = Date.parse("2026-07-01T12:00:00.000Z");

const alert: Alert = {
  ...{ rule: "runner_lost", level: "bad", subject: "r1", name: "rack-1", text: "Offline." },
};
const row = (changes: Partial<AlertRow> = {}): AlertRow => ({
  ...alert,
  ...{ id: "a1", since: NOW - 10 * MINUTE, ended_at: null, notified_at: null },
  ...{ end_notified_at: null, claimed_at: null, error: null },
  ...{ silenced_until: null, silenced_by: null },
  ...changes,
});
const NONE: ReadonlySet<string> = new Set();

test("a rule that begins to hold begins an alert once", () => {
  expect(changesOf([], [alert], NONE, NOW).begun).toMatchObject([{ subject: "r1" }]);
  const unchanged = { begun: [], ended: [], dropped: [] };
  expect(changesOf([row()], [alert], NONE, NOW)).toEqual(unchanged);
  expect(changesOf([row({ ended_at: NOW - 1 })], [alert], NONE, NOW).begun).toHaveLength(1);
});

test("a rule that holds no more ends its alert, and leaves none if it held for less than two minutes", () => {
  expect(changesOf([row()], [], NONE, NOW).ended).toMatchObject([{ id: "a1" }]);
  const short = row({ since: NOW - 2 * MINUTE + 1 });
  expect(changesOf([short], [], NONE, NOW)).toMatchObject({ ended: [], dropped: [{ id: "a1" }] });
});

test("an alert goes on while nothing is known of its subject or its rule", () => {
  for (const unknown of ["r1", "runner_lost"])
    expect(changesOf([row()], [], new Set([unknown]), NOW).ended).toEqual([]);
  expect(changesOf([row()], [], new Set(["r2"]), NOW).ended).toHaveLength(1);
});

test("at most 200 alerts hold at once", () => {
  const many = Array.from({ length: 300 }, (_, n) => ({ ...alert, subject: `r${n}` }));
  expect(changesOf([row()], many, NONE, NOW).begun).toHaveLength(199);
});

test("alerts that people cause with models of their own leave places for those of runners", () => {
  const failing = Array.from({ length: 300 }, (_, n): Alert => {
    return { ...alert, rule: "model_failing", subject: `mallory/m${n}` };
  });
  const { begun } = changesOf([], failing, NONE, NOW);
  const held = begun.map((one, n) => row({ ...one, id: `a${n}` }));
  expect(held).toHaveLength(100);
  const later = changesOf(held, [...failing, alert], NONE, NOW);
  expect(later.begun).toMatchObject([{ rule: "runner_lost" }]);
});

test("a silence goes on when the alert ends and begins again", () => {
  const silence = { silenced_until: NOW + DAY, silenced_by: "ada" };
  const before = row({ ended_at: NOW - 1, ...silence });
  expect(changesOf([before], [alert], NONE, NOW).begun).toMatchObject([silence]);
  const over = row({ ended_at: NOW - 1, silenced_until: NOW, silenced_by: "ada" });
  expect(changesOf([over], [alert], NONE, NOW).begun).toMatchObject([{ silenced_until: null }]);
});

test("the first message is due after two minutes, unless the alert is silenced", () => {
  expect(messageDue(row({ since: NOW - 2 * MINUTE }), NOW)).toBe("begin");
  expect(messageDue(row({ since: NOW - 2 * MINUTE + 1 }), NOW)).toBeUndefined();
  expect(messageDue(row({ silenced_until: NOW + 1 }), NOW)).toBeUndefined();
  expect(messageDue(row({ silenced_until: NOW }), NOW)).toBe("begin");
});

test("a reminder is due each day while predictions suffer", () => {
  const told = { notified_at: NOW - DAY };
  expect(messageDue(row(told), NOW)).toBe("reminder");
  expect(messageDue(row({ notified_at: NOW - DAY + 1 }), NOW)).toBeUndefined();
  expect(messageDue(row({ ...told, level: "warning" }), NOW)).toBeUndefined();
  expect(messageDue(row({ ...told, silenced_until: NOW + 1 }), NOW)).toBeUndefined();
});

test("the end is told once, for a day, and only of an alert whose beginning was told", () => {
  const ended = { ended_at: NOW, notified_at: NOW - MINUTE };
  expect(messageDue(row(ended), NOW)).toBe("end");
  expect(messageDue(row({ ...ended, silenced_until: NOW + 1 }), NOW)).toBe("end");
  expect(messageDue(row({ ...ended, end_notified_at: NOW }), NOW)).toBeUndefined();
  expect(messageDue(row({ ...ended, notified_at: null }), NOW)).toBeUndefined();
  expect(messageDue(row({ ...ended, ended_at: NOW - DAY }), NOW)).toBeUndefined();
});

test("a message that a sweep is sending is due again after three minutes, with the same id", () => {
  expect(messageDue(row({ claimed_at: NOW - 3 * MINUTE + 1 }), NOW)).toBeUndefined();
  const late = row({ claimed_at: NOW - 3 * MINUTE });
  expect(messageDue(late, NOW)).toBe("begin");
  expect(messageId(late, "begin")).toBe(messageId(row(), "begin"));
  const first = row({ notified_at: 1 });
  expect(messageId(first, "reminder")).not.toBe(messageId(row({ notified_at: 2 }), "reminder"));
});

test("a warning that becomes critical ends, and another alert begins that its silence does not cover", () => {
  const warning = row({ level: "warning", silenced_until: NOW + DAY });
  expect(changesOf([warning], [alert], NONE, NOW)).toMatchObject({
    ended: [{ level: "warning" }],
    begun: [{ level: "bad", silenced_until: null }],
  });
});

test("a silence goes on if the alert returns, unless an operator has ended it since", () => {
  const silenced = { silenced_until: NOW + DAY, silenced_by: "u1" };
  const before = row({
    ...silenced,
    id: "a0",
    since: NOW - 60 * MINUTE,
    ended_at: NOW - 50 * MINUTE,
  });
  expect(changesOf([before], [alert], NONE, NOW).begun).toMatchObject([silenced]);
  const since = row({ ended_at: NOW - MINUTE });
  for (const rows of [
    [before, since],
    [since, before],
  ])
    expect(changesOf(rows, [alert], NONE, NOW).begun).toMatchObject([{ silenced_until: null }]);
});
