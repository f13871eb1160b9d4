/** Incidents as everybody sees them. */
import { expect, test } from "vitest";
import { type IncidentRow, statusReport } from "../../../src/domain/alerts/incidents.ts";

const NOW = Date.parse("2026-07-01T12:00:00.000Z");
const HOUR = 3_600_000;

const lost = (subject: string, from: number, to: number | null): IncidentRow => ({
  ...{ rule: "runner_lost", subject, since: NOW - from * HOUR },
  ended_at: to === null ? null : NOW - to * HOUR,
});
const runnersIn = (rows: IncidentRow[]) => {
  const { components, incidents } = statusReport([], rows, NOW);
  return { incidents, days: components.find(({ id }) => id === "runners")?.days ?? [] };
};

test("alerts about several runners at once are one incident, and count once", () => {
  const { incidents, days } = runnersIn([lost("r1", 5, 3), lost("r2", 4, 2), lost("r3", 1, 0.5)]);
  expect(incidents.map(({ began_at, ended_at }) => [began_at, ended_at])).toEqual([
    ["2026-07-01T11:00:00.000Z", "2026-07-01T11:30:00.000Z"],
    ["2026-07-01T07:00:00.000Z", "2026-07-01T10:00:00.000Z"],
  ]);
  expect(days.at(-1)).toBe(3.5 * 3_600);
});

test("an incident counts on each of its days in UTC, and one that holds until now", () => {
  const { days } = runnersIn([lost("r1", 40, null)]);
  expect(days).toHaveLength(90);
  expect(days.slice(-3)).toEqual([4, 24, 12].map((hours) => hours * 3_600));
});

test("the days of an incident that began more than 90 days ago begin with the first that is shown", () => {
  const { days } = runnersIn([lost("r1", 100 * 24, 89 * 24)]);
  expect(days.slice(0, 2)).toEqual([12 * 3_600, 0]);
});
