/**
 * The runner object: the presence of one machine. Small state, small arguments, off the hot path:
 * what itty-durable is made for. It persists what an operator decides; telemetry, which comes
 * again every half minute, at most once a minute.
 */
import { createDurable } from "itty-durable";
import type { SessionRequest, TelemetryRequest } from "../../protocol/runner.ts";

const PERSIST_MS = 60_000;

/** What the object answers, and keeps. */
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
}

export class RunnerObject extends createDurable() {
  presence: Presence | null = null;
  persistedAt = 0;

  /** A process of this runner has started. A drain that an operator ordered outlives it. */
  begin(session: string, request: SessionRequest): Presence {
    const { name, hardware, version, engine, slots } = request;
    const draining = this.presence?.draining ?? false;
    const state = { state: "ready" as const, slots, running: [], last_seen_at: Date.now() };
    return this.keep({ name, hardware, version, engine, session, draining, ...state });
  }

  /** @returns the presence: of another session when that one began later; null when none has begun. */
  report(telemetry: TelemetryRequest): Presence | null {
    if (this.presence?.session !== telemetry.session) return this.presence;
    const { state, slots, running } = telemetry;
    const changed = state !== this.presence.state;
    const next = { ...this.presence, state, slots, running, last_seen_at: Date.now() };
    if (changed || Date.now() - this.persistedAt > PERSIST_MS) return this.keep(next);
    this.presence = next;
    return next;
  }

  drain(draining: boolean): Presence | null {
    return this.presence && this.keep({ ...this.presence, draining });
  }

  look(): Presence | null {
    return this.presence;
  }

  keep(presence: Presence): Presence {
    this.presence = presence;
    this.persistedAt = Date.now();
    void this.persist();
    return presence;
  }
}
