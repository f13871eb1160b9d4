/** What the methods of a runner object take and return. */
import type { Load, Machine, TelemetryRequest } from "../../protocol/runner.ts";

/** The presence of a runner: what its object stores and returns. */
export interface Presence {
  name: string;
  hardware: string;
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

export type Report = Omit<TelemetryRequest, "runner_id">;
