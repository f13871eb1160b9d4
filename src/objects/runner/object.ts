/**
 * The runner object: the presence of one machine. Small state, small arguments, off the hot path:
 * what itty-durable is made for. It persists what an operator decides; telemetry, which comes
 * again every half minute, at most once a minute.
 */
import { createDurable } from "itty-durable";
import type { Load, Machine, SessionRequest, TelemetryRequest } from "../../protocol/runner.ts";

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
  started_at: number;
  machine: Machine;
  /** Null until the first report. */
  load: Load | null;
  warm: string[];
}

/** A report as it comes in here. */
export type Report = Omit<TelemetryRequest, "runner_id">;

export class RunnerObject extends createDurable() {
  presence: Presence | null = null;
  persistedAt = 0;

  /** A process of this runner has started. A drain that an operator ordered outlives it. */
  begin(session: string, request: SessionRequest): Presence {
    const { protocol: _, ...runner } = request;
    const now = Date.now();
    return this.keep({
      ...runner,
      session,
      draining: this.presence?.draining ?? false,
      state: "ready",
      running: [],
      warm: [],
      load: null,
      started_at: now,
      last_seen_at: now,
    });
  }

  /** @returns the presence: of another session when that one began later; null when none has begun. */
  report({ session, ...telemetry }: Report): Presence | null {
    if (this.presence?.session !== session) return this.presence;
    // A report that was on its way when the process said goodbye.
    if (this.presence.state === "stopped") return this.presence;
    const changed = telemetry.state !== this.presence.state;
    const next = { ...this.presence, ...telemetry, last_seen_at: Date.now() };
    if (changed || Date.now() - this.persistedAt > PERSIST_MS) return this.keep(next);
    this.presence = next;
    return next;
  }

  /** The lease of a prediction that ran there has ended: until it says otherwise, it does not. */
  lost(predictionId: string): Presence | null {
    const { presence } = this;
    if (!presence) return null;
    const running = presence.running.filter((id) => id !== predictionId);
    this.presence = { ...presence, running };
    return this.presence;
  }

  drain(draining: boolean): Presence | null {
    return this.presence && this.keep({ ...this.presence, draining });
  }

  look(): Presence | null {
    return this.presence;
  }

  /**
   * Forgets the runner, unless it is there: not stopped, and heard of since then.
   * @returns the presence of one that stays
   */
  async remove(since: number): Promise<Presence | null> {
    const { presence } = this;
    if (presence && presence.state !== "stopped" && presence.last_seen_at > since) return presence;
    await this.destroy({ reset: true });
    return null;
  }

  keep(presence: Presence): Presence {
    this.presence = presence;
    this.persistedAt = Date.now();
    void this.persist();
    return presence;
  }
}
