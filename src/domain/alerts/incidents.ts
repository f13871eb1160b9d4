/**
 * Incidents: what alerts tell everybody, as titles and times. The name of a hardware class is the only name in
 * one.
 */
import type { Component, StatusReport } from "../../protocol/status.ts";
import type { AlertRow } from "./life.ts";
import { RULES, type RuleId } from "./rules.ts";

interface Kind {
  title: string;
  /** The part that it affects. The class of hardware is the subject of the alert. */
  of: "control_plane" | "runners" | "hardware";
}

const REDUCED: Kind = { title: "Reduced capacity", of: "runners" };

/** The incidents of critical alerts by rule. Null: those concern one account, or nobody who runs models. */
const KINDS: Record<RuleId, Kind | null> = {
  no_runner: { title: "No runner available", of: "hardware" },
  long_wait: { title: "Long waits", of: "hardware" },
  runner_lost: REDUCED,
  gpu_lost: REDUCED,
  runner_failing: REDUCED,
  database_full: { title: "Changes refused", of: "control_plane" },
  runner_paused: null,
  drain_stuck: null,
  gpu_hot: null,
  disk_full: null,
  backup_overdue: null,
  model_failing: null,
  endpoint_disabled: null,
  history_full: null,
  budget_exhausted: null,
  token_expiring: null,
};

const isRule = (name: string): name is RuleId => name in RULES;

/** The rules whose critical alerts everybody may know of. */
export const PUBLIC_RULES: RuleId[] = Object.keys(RULES)
  .filter(isRule)
  .filter((rule) => KINDS[rule]);

export type IncidentRow = Pick<AlertRow, "rule" | "subject" | "since" | "ended_at">;

export interface ClassState {
  identifier: string;
  name: string;
  state: "operational" | "busy" | "no_runners" | "unknown";
}

const DAY_MS = 86_400_000;
const DAYS = 90;
/** A report lists so many incidents. */
const MAX_INCIDENTS = 100;

const CONTROL_PLANE = "control_plane";
const hardwareId = (identifier: string) => `hardware/${identifier}`;

interface Interval {
  from: number;
  /** Infinity: it holds. */
  to: number;
}

interface Incident extends Interval {
  component: string;
  title: string;
}

/** @param rows alerts that hold, and those that ended within 90 days */
export function statusReport(
  classes: ClassState[],
  rows: IncidentRow[],
  now: number,
): StatusReport {
  const incidents = incidentsOf(rows);
  const component = (id: string, name: string, state: Component["state"]): Component => {
    const own = incidents.filter((one) => one.component === id);
    const isHolding = own.some(({ to }) => to === Number.POSITIVE_INFINITY);
    const shown = state === "operational" && isHolding ? "degraded" : state;
    return { id, name, state: shown, days: daysOf(own, now) };
  };
  const isDegraded = incidents.some(({ to }) => to === Number.POSITIVE_INFINITY);
  return {
    status: isDegraded ? "degraded" : "operational",
    checked_at: isoTime(now),
    components: [
      component(CONTROL_PLANE, "Control plane", "operational"),
      component("runners", "Runners", "operational"),
      ...classes.map(({ identifier, name, state }) =>
        component(hardwareId(identifier), name, state),
      ),
    ],
    incidents: incidents.slice(0, MAX_INCIDENTS).map(({ component, title, from, to }) => ({
      component,
      title,
      began_at: isoTime(from),
      ended_at: to === Number.POSITIVE_INFINITY ? null : isoTime(to),
    })),
  };
}

/** Returns the report while the database does not answer. @param last what was known before */
export const downReport = (last: StatusReport | undefined, now: number): StatusReport => ({
  status: "down",
  checked_at: isoTime(now),
  components: (last?.components ?? statusReport([], [], now).components).map((one) => ({
    ...one,
    state: one.id === CONTROL_PLANE ? "unavailable" : "unknown",
  })),
  incidents: last?.incidents ?? [],
});

/** Returns the incidents, newest first. Alerts at once of the same kind are one, so that nobody can count runners. */
function incidentsOf(rows: IncidentRow[]): Incident[] {
  const all = rows.flatMap(({ rule, subject, since, ended_at }): Incident[] => {
    const kind = KINDS[rule];
    if (!kind) return [];
    const component = kind.of === "hardware" ? hardwareId(subject) : kind.of;
    const to = ended_at ?? Number.POSITIVE_INFINITY;
    return [{ component, title: kind.title, from: since, to }];
  });
  const kinds = Map.groupBy(all, ({ component, title }) => `${component} ${title}`);
  return [...kinds.values()].flatMap(merged).toSorted((a, b) => b.from - a.from);
}

/** Joins what overlaps. */
function merged<One extends Interval>(intervals: One[]): One[] {
  const joined: One[] = [];
  for (const one of intervals.toSorted((a, b) => a.from - b.from)) {
    const last = joined.at(-1);
    if (last && one.from <= last.to)
      joined[joined.length - 1] = { ...last, to: Math.max(last.to, one.to) };
    else joined.push(one);
  }
  return joined;
}

/** Returns the seconds of each of the last 90 days in which there was an incident, the oldest day first. */
function daysOf(incidents: Interval[], now: number): number[] {
  const times = merged(incidents.map(({ from, to }) => ({ from, to: Math.min(to, now) })));
  const today = Math.floor(now / DAY_MS);
  return Array.from({ length: DAYS }, (_, n) => {
    const begin = (today - DAYS + 1 + n) * DAY_MS;
    const ms = times.reduce(
      (sum, { from, to }) =>
        sum + Math.max(0, Math.min(to, begin + DAY_MS) - Math.max(from, begin)),
      0,
    );
    return Math.round(ms / 1_000);
  });
}

const isoTime = (at: number) => new Date(at).toISOString();
