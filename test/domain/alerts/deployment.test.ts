/** Alerts about models, webhooks, backups, the database and tokens. */
import { expect, test } from "vitest";
import {
  backupAlerts,
  endpointAlerts,
  failureAlerts,
  spaceAlerts,
  tokenAlerts,
} from "../../../src/domain/alerts/deployment.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NOW = Date.parse("2026-07-01T12:00:00.000Z");

test("a model causes an alert when more than half of at least ten runs fail", () => {
  const of = (succeeded: number, failed: number) =>
    failureAlerts([{ model: "ada/story", succeeded, failed }], 0.5);
  expect(of(4, 6)).toEqual([
    {
      rule: "model_failing",
      level: "bad",
      subject: "ada/story",
      name: "ada/story",
      text: "6 of its last 10 runs failed.",
    },
  ]);
  expect(of(5, 5)).toEqual([]);
  expect(of(0, 9)).toEqual([]);
  expect(failureAlerts([{ model: "other", succeeded: 0, failed: 20 }], 0.5)).toEqual([]);
});

test("an alert about a disabled endpoint names the host of its URL and no more of it", () => {
  const url = "https://hooks.example.org/secret?key=1";
  const [alert] = endpointAlerts([{ id: "e", url, username: "ada", last_error: null }]);
  expect(alert?.text).toBe("The webhook endpoint of ada at hooks.example.org was disabled.");
  expect(JSON.stringify(alert)).not.toContain("secret");
});

test("a backup is overdue an hour after it should have begun, or when it takes that long", () => {
  const of = (ago: number, ended_at: number | null) =>
    backupAlerts({ started_at: NOW - ago, ended_at }, DAY, NOW).map(({ text }) => text);
  expect(of(DAY + HOUR - 1, NOW)).toEqual([]);
  expect(of(DAY + HOUR, NOW)).toEqual(["The last backup began 25 hours ago."]);
  expect(of(DAY + HOUR, null)).toEqual(["The backup that began 25 hours ago has not ended."]);
});

test("a database that is nearly full causes a warning, and a full one an alert", () => {
  const of = (bytes: number, isNearlyFull: boolean) =>
    spaceAlerts({ bytes, max_bytes: 10e9, isNearlyFull }).map(({ level }) => level);
  expect(of(1e9, false)).toEqual([]);
  expect(of(8e9, true)).toEqual(["warning"]);
  expect(of(10e9, true)).toEqual(["bad"]);
});

test("a token causes an alert in the last week of a life of at least two weeks", () => {
  const of = (left: number, life = 90 * DAY) => {
    const expires_at = NOW + left;
    const token = { id: "t", name: "ci", username: "ada", created_at: expires_at - life };
    return tokenAlerts([{ ...token, expires_at }], NOW).map(({ text }) => text);
  };
  expect(of(7 * DAY)).toEqual(["The token “ci” of ada expires on 2026-07-08."]);
  expect(of(7 * DAY + 1)).toEqual([]);
  expect(of(0)).toEqual([]);
  expect(of(DAY, 13 * DAY)).toEqual([]);
});
