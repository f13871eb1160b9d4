/** The load of a runner over the last day, and its events: its object keeps both. */
import type { RunnerEvent as KeptEvent } from "../../domain/runners/events.ts";
import { dayOf, type HistoryStep, STEP_MS, stepStart } from "../../domain/runners/history.ts";
import { silenceOf } from "../../domain/runners/silence.ts";
import { runnerAt } from "../../objects/runner/stub.ts";
import type { RunnerState } from "../../protocol/fleet.ts";
import type { RunnerEvent, RunnerHistory } from "../../protocol/runner-log.ts";
import { findUsernames } from "../../storage/accounts/users.ts";
import { findRunner } from "../../storage/runners/runners.ts";
import type { Services } from "../services.ts";
import { unknownRunner } from "./fleet.ts";
import { ANSWER_MS } from "./runner-detail.ts";
import { readStates } from "./runner-states.ts";

export interface KnownHistory {
  /** The steps of the last 24 hours, oldest first, as charts have them. Null: nothing was reported. */
  day: (HistoryStep | null)[];
  history: RunnerHistory;
  /** The events, newest first. */
  events: RunnerEvent[];
}

/** @throws ProblemError not_found; TimedOut if its object does not answer */
export async function readHistory(services: Services, id: string): Promise<KnownHistory> {
  if (!(await findRunner(services.db, id))) throw unknownRunner(id);
  return historyOf(services, id);
}

/** Returns the history of a runner that exists. @throws TimedOut if its object does not answer */
export async function historyOf({ env, db }: Services, id: string): Promise<KnownHistory> {
  const { hours, events } = await runnerAt(env, id).history();
  const now = Date.now();
  const day = dayOf(hours, now);
  const people = await findUsernames(db, [...new Set(events.flatMap(({ by }) => by ?? []))]);
  return {
    day,
    history: presentDay(day, now),
    events: events.toReversed().map((event) => presentEvent(event, people)),
  };
}

/** @throws as readHistory */
export async function readEvents(services: Services, id: string): Promise<RunnerEvent[]> {
  const row = await findRunner(services.db, id);
  if (!row) throw unknownRunner(id);
  const [{ events }, [state]] = await Promise.all([
    historyOf(services, id),
    readStates(services, [row], ANSWER_MS),
  ]);
  return state ? withSilence(events, state, Date.now()) : events;
}

/**
 * Adds since when the runner is silent, if it is: no object records that, and the runner itself tells it once
 * it is back.
 */
export function withSilence(
  events: RunnerEvent[],
  runner: RunnerState,
  now: number,
): RunnerEvent[] {
  const { state, revoked, last_seen_at: at } = runner;
  const isLost = state === "offline" && !revoked;
  if (at === null || (!isLost && silenceOf(runner, now) === undefined)) return events;
  const silence = { at, kind: "fell_silent", detail: null, time: null, by: null } as const;
  return [silence, ...events].toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at));
}

const presentDay = (day: KnownHistory["day"], now: number): RunnerHistory => ({
  step_seconds: STEP_MS / 1_000,
  steps: day.flatMap((step, n) =>
    step === null ? [] : [{ at: new Date(stepStart(n, now)).toISOString(), ...step }],
  ),
});

/** Kinds of events whose detail is a time. */
const WITH_TIME: KeptEvent["kind"][] = ["lost", "silent", "set_aside"];

function presentEvent(
  { at, kind, detail, by }: KeptEvent,
  people: ReadonlyMap<string, string>,
): RunnerEvent {
  const hasTime = WITH_TIME.includes(kind);
  const [, time, rest] = (hasTime && /^(\d*) ?(.*)$/s.exec(detail)) || ["", "", detail];
  return {
    at: new Date(at).toISOString(),
    kind,
    detail: rest || null,
    time: hasTime ? new Date(Number(time) || 0).toISOString() : null,
    by: (by !== undefined && people.get(by)) || null,
  };
}
