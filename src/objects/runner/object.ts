/**
 * The runner object: the presence of one machine. Small state, small arguments, off the hot path: the case
 * for itty-durable. The object stores all that it receives, telemetry too: it leaves memory after 10 s
 * without a call, and would otherwise have the state of a minute ago.
 */
import { createDurable } from "itty-durable";
import { type RunnerEvent, withEvents } from "../../domain/runners/events.ts";
import { type HistoryHour, HOURS, recorded } from "../../domain/runners/history.ts";
import { offlineMs } from "../../domain/runners/silence.ts";
import { type Bindings, settings } from "../../env.ts";
import type { History, NewSession, Presence, Report } from "../stubs/runner.ts";

/** Processes whose registrations may still be on their way. */
const MAX_PROCESSES = 10;

interface EventFacts {
  detail?: string;
  by?: string | null | undefined;
}

const HISTORY = "history:";
/** Returns the key of an hour, which takes the place of the same hour of the day before. */
const keyOf = ({ hour }: HistoryHour) => `${HISTORY}${hour % HOURS}`;

export class RunnerObject extends createDurable() {
  declare state: DurableObjectState & { env: Bindings };
  presence: Presence | null = null;
  /**
   * Whether the runner is removed for good: when it comes back, it is a new one. A late registration must not
   * revive this one.
   */
  removed = false;
  /** The last processes that have registered, the last of all first. */
  processes: string[] = [];
  /** The load of this hour. Earlier hours are stored by themselves. */
  hour: HistoryHour | null = null;
  /** The events of the runner, oldest first. */
  events: RunnerEvent[] = [];

  /**
   * Begins a session of a process that has started. The runner stays drained if an operator has drained it.
   * @returns the session that the process has already, if it has registered before; null when another process
   * has come after it, or the runner was removed
   */
  beginSession(session: string, request: NewSession): Presence | null {
    if (this.removed) return null;
    const { protocol: _, process, ...runner } = request;
    const place = process === undefined ? -1 : this.processes.indexOf(process);
    if (place > 0) return null;
    if (place === 0 && this.presence) return this.presence;
    if (process !== undefined)
      this.processes = [process, ...this.processes].slice(0, MAX_PROCESSES);
    const now = Date.now();
    const before = this.presence;
    if (before && before.state !== "stopped")
      this.add("lost", { detail: String(before.last_seen_at) });
    this.add("started", { detail: runner.version });
    return this.keep({
      ...runner,
      session,
      draining: this.presence?.draining ?? false,
      draining_since: this.presence?.draining_since ?? null,
      state: "ready",
      running: [],
      warm: [],
      load: null,
      started_at: now,
      last_seen_at: now,
    });
  }

  /** @returns the presence, which may be of a later session; null when none has begun */
  report({ session, ...telemetry }: Report): Presence | null {
    if (this.presence?.session !== session) return this.presence;
    // The report was on its way when the process stopped.
    if (this.presence.state === "stopped") return this.presence;
    this.record(telemetry);
    this.notice(this.presence, telemetry);
    return this.keep({ ...this.presence, ...telemetry, last_seen_at: Date.now() });
  }

  /** Removes a run whose lease has expired: it is not listed until reported again. */
  removeRun(predictionId: string): Presence | null {
    const { presence } = this;
    if (!presence) return null;
    const running = presence.running.filter((id) => id !== predictionId);
    return this.keep({ ...presence, running });
  }

  /** @param by the id of the operator's account */
  setDraining(draining: boolean, by?: string | null): Presence | null {
    if (!this.presence) return null;
    if (this.presence.draining === draining) return this.presence;
    this.add(draining ? "drained" : "resumed", { by });
    return this.keep({
      ...this.presence,
      draining,
      draining_since: draining ? Date.now() : null,
    });
  }

  /** Adds events. The pool and operators send them. */
  reportEvents(events: RunnerEvent[]): Presence | null {
    if (!this.presence) return null;
    this.events = withEvents(this.events, events);
    return this.keep(this.presence);
  }

  notice(before: Presence, { state }: Pick<Report, "state">): void {
    const { last_seen_at } = before;
    if (this.isSilentSince(last_seen_at)) this.add("silent", { detail: String(last_seen_at) });
    if (state === before.state) return;
    if (state === "stopped") this.add("stopped");
    // A runner that an operator drains reports `draining` as well: it was not told to stop.
    else if (state === "draining" && !before.draining) this.add("stopping");
  }

  isSilentSince(seenAt: number): boolean {
    return Date.now() - seenAt > offlineMs(settings(this.state.env).telemetrySeconds);
  }

  add(kind: RunnerEvent["kind"], { detail = "", by }: EventFacts = {}): void {
    const event = { at: Date.now(), kind, detail, ...(by && { by }) };
    this.events = withEvents(this.events, [event]);
  }

  record({ running, load }: Pick<Report, "running" | "load">): void {
    const sample = { running: running.length, gpus: load.gpus ?? [] };
    const { open, over } = recorded(this.hour, sample, Date.now());
    this.hour = open;
    if (over) void this.state.storage.put(keyOf(over), over);
  }

  async history(): Promise<History> {
    const stored = await this.state.storage.list<HistoryHour>({ prefix: HISTORY });
    return { hours: [...stored.values(), ...(this.hour ? [this.hour] : [])], events: this.events };
  }

  getPresence(): Presence | null {
    return this.presence;
  }

  /**
   * Deletes what is known of the runner, unless it is online: not stopped, and seen since then.
   * @returns the presence if it stays
   */
  async remove(since: number): Promise<Presence | null> {
    const { presence } = this;
    if (presence && presence.state !== "stopped" && presence.last_seen_at > since) return presence;
    await this.destroy({ reset: true });
    this.removed = true;
    void this.persist();
    return null;
  }

  keep(presence: Presence): Presence {
    this.presence = presence;
    void this.persist();
    return presence;
  }
}
