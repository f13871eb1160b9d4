/** What the methods of a runner object take and return. */
import type { RunnerEvent } from "../../domain/runners/events.ts";
import type { HistoryHour } from "../../domain/runners/history.ts";
import type { Load, Machine, SessionRequest, TelemetryRequest } from "../../protocol/runner.ts";

/** The presence of a runner: what its object stores and returns. */
export interface Presence {
  name: string;
  hardware: string[];
  pool: string;
  version: string;
  engine: string;
  session: string;
  draining: boolean;
  state: TelemetryRequest["state"];
  slots: number;
  running: string[];
  last_seen_at: number;
  started_at: number;
  machine: Machine;
  /** Null until the first report. */
  load: Load | null;
  warm: string[];
}

export interface History {
  /** Of the last day, and maybe older ones, in any order. */
  hours: HistoryHour[];
  /** Oldest first. */
  events: RunnerEvent[];
}

/** What a runner registers with, and the pool of its classes. */
export type NewSession = SessionRequest & Pick<Presence, "pool">;

export type Report = Omit<TelemetryRequest, "runner_id">;
