/** The load of a runner over the last day, and its events: its object keeps both. */
import type { RunnerEvent as KeptEvent } from "../../domain/runners/events.ts";
import { dayOf, type HistoryStep, STEP_MS, stepStart } from "../../domain/runners/history.ts";
import { isOffline, silenceOf } from "../../domain/runners/silence.ts";
import { LOG_ASKED_MS, type ReportedRunnerLog } from "../../objects/stubs/pool.ts";
import { runnerAt } from "../../objects/stubs/runner.ts";
import type { RunnerState } from "../../protocol/fleet.ts";
import type { RunnerEvent, RunnerHistory, RunnerLog } from "../../protocol/runner-log.ts";
import { findUsernames } from "../../storage/accounts/users.ts";
import { findRunner } from "../../storage/runners/runners.ts";
import { recordRead } from "../audit/record.ts";
import type { Services } from "../services.ts";
import { withTimeout } from "../with-timeout.ts";
import { ofRunner, unknownRunner } from "./fleet.ts";
import { findMadePool } from "./pools.ts";
import { ANSWER_MS } from "./runner-detail.ts";
import { readStates } from "./runner-states.ts";

/** How long to wait for the log, which is longer than a pool waits for a runner. */
const ASK_MS = 5_000;

const LOG_ANSWER_MS = 2_000;

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

/** Returns the last 24 hours of some runners, without those whose objects do not answer in time. */
export async function readDays(
  { env }: Services,
  ids: string[],
): Promise<ReadonlyMap<string, KnownHistory["day"]>> {
  const now = Date.now();
  const read = ids.map(async (id) => {
    const found = await withTimeout(runnerAt(env, id).history(), `runner ${id}`, ANSWER_MS);
    return found ? [[id, dayOf(found.hours, now)] as const] : [];
  });
  return new Map((await Promise.all(read)).flat());
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

/**
 * Asks for the log, and returns as soon as it has come, or after some seconds.
 * @throws ProblemError not_found
 */
export async function askForRunnerLog(services: Services, id: string): Promise<void> {
  const row = await existing(services, id);
  const { pool } = row;
  await recordRead(services, { action: "runner.log_requested", ...ofRunner(row) });
  const stub = await findMadePool(services, pool);
  if (stub) await withTimeout(stub.askForLog(id), `pool ${pool}`, ASK_MS);
}

export interface KnownLog {
  runner: RunnerState;
  /** The log. Null: the pool did not answer. */
  log: RunnerLog | null;
}

/** @throws ProblemError not_found */
export async function readRunnerLog(services: Services, id: string): Promise<KnownLog> {
  const row = await existing(services, id);
  const [[runner], stub] = await Promise.all([
    readStates(services, [row], LOG_ANSWER_MS),
    findMadePool(services, row.pool),
  ]);
  if (!runner) throw unknownRunner(id);
  // A pool that was never used has no object, so nobody has asked for the log.
  const log = stub
    ? await withTimeout(stub.log(id), `pool ${row.pool}`, LOG_ANSWER_MS)
    : { asked_at: null, at: null, lines: [] };
  return { runner, log: log ? present(log, runner) : null };
}

function present({ asked_at, at, lines }: ReportedRunnerLog, runner: RunnerState): RunnerLog {
  const isAsked = asked_at !== null && Date.now() - asked_at < LOG_ASKED_MS;
  return {
    waiting: isAsked && !isOffline(runner),
    asked_at: asked_at === null ? null : timeOf(asked_at),
    sent_at: at === null ? null : timeOf(at),
    lines: lines.map((line) => ({ ...line, at: timeOf(line.at) })),
  };
}

const timeOf = (at: number) => new Date(at).toISOString();

async function existing({ db }: Services, id: string) {
  const row = await findRunner(db, id);
  if (!row) throw unknownRunner(id);
  return row;
}
