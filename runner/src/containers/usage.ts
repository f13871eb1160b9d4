/** The activity of a container, for the pool: its phase, its runs and its idle time. */
import {
  type ContainerState,
  MAX_MEASURED,
  type Measured,
} from "../../../src/protocol/runner-state.ts";
import type { Outcome } from "../interfaces/interface.ts";

/** The runner reports at most this many runs of a container. */
const MAX_RUNS = 1_000;

export class Activity {
  readonly #key: string;
  readonly #measures: Measures;
  #phase: ContainerState["phase"] = "starting";
  #since = performance.now();
  #idleSince = this.#since;
  readonly #madeAt = this.#since;
  #setupMs: number | undefined;
  readonly #runs = new Set<{ since: number }>();
  readonly #shares = new Shares();

  /** @param key of its jobs */
  constructor(key: string, measures: Measures) {
    this.#key = key;
    this.#measures = measures;
  }

  ready(): void {
    this.#measures.add({ key: this.#key, setup_ms: msSince(this.#since) });
    this.#enter("ready");
  }

  /** An adopted container was ready before: how long its setup took is not known. */
  adopted(): void {
    this.#setupMs = 0;
    this.#enter("ready");
  }

  /** Milliseconds since the last user left; meaningful only while the container has no user. */
  get idleMs(): number {
    return msSince(this.#idleSince);
  }

  stopping(): void {
    if (this.#phase !== "stopping") this.#enter("stopping");
  }

  /** How long the setup took, has taken so far, or took until it failed. */
  get setupMs(): number {
    return this.#setupMs ?? performance.now() - this.#madeAt;
  }

  /**
   * A run begins.
   * @returns to be called when the run has ended, with whether it succeeded; it returns the milliseconds of the
   * container that are the run's
   */
  run(): (succeeded: boolean) => number {
    const run = { since: performance.now() };
    this.#runs.add(run);
    const leave = this.#shares.join(run.since);
    return (succeeded) => {
      this.#runs.delete(run);
      // The duration of a stopped or failed run does not predict the next run's.
      if (succeeded) this.#measures.add({ key: this.#key, run_ms: msSince(run.since) });
      return leave(performance.now());
    };
  }

  left(): void {
    this.#idleSince = performance.now();
  }

  /** @param takesRuns false when it is retired, though some runs may go on in it */
  state(users: number, takesRuns: boolean) {
    return {
      phase: takesRuns ? this.#phase : "stopping",
      phase_ms: msSince(this.#since),
      idle_ms: users > 0 ? null : msSince(this.#idleSince),
      users,
      runs_ms: [...this.#runs].slice(0, MAX_RUNS).map(({ since }) => msSince(since)),
    } as const;
  }

  #enter(phase: ContainerState["phase"]): void {
    this.#setupMs ??= performance.now() - this.#madeAt;
    this.#phase = phase;
    this.#since = performance.now();
  }
}

const msSince = (time: number) => Math.round(performance.now() - time);

/**
 * Divides the time of a container by the number of runs that are in it at each moment, so that the shares of all
 * runs add up to the time in which at least one was there. Times are those of `performance.now()`.
 */
export class Shares {
  #runs = 0;
  #changedAt = 0;
  /** The time that a run would have that has been there from the start. */
  #each = 0;

  /** @returns to be called with the time when the run has left, which returns its share in milliseconds */
  join(now: number): (now: number) => number {
    this.#advance(now);
    this.#runs += 1;
    const before = this.#each;
    return (end) => {
      this.#advance(end);
      this.#runs -= 1;
      return this.#each - before;
    };
  }

  #advance(now: number): void {
    if (this.#runs > 0) this.#each += (now - this.#changedAt) / this.#runs;
    this.#changedAt = now;
  }
}

/** Durations of setups and runs, kept until they are reported: the pool expects the same of the next. */
export class Measures {
  #measured: Measured[] = [];

  /** Adds a measure. The oldest measures are dropped if the runner does not report. */
  add(measured: Measured): void {
    this.#measured.push(measured);
    if (this.#measured.length > MAX_MEASURED) this.#measured.shift();
  }

  /** Returns the measures since the last call. */
  take(): Measured[] {
    return this.#measured.splice(0);
  }
}

/** How long the next process keeps an adopted container whose claim the pool has not told it of yet. */
const ADOPTED_MS = 120_000;

/** The time that a container may be idle. It does not end while a capacity claim holds the container. */
export class IdleTime {
  ms = 0;
  #timer: NodeJS.Timeout | undefined;
  readonly #onOver: () => void;
  #isClaimed: boolean;

  constructor(onOver: () => void, isClaimed: boolean) {
    this.#onOver = onOver;
    this.#isClaimed = isClaimed;
  }

  get isClaimed(): boolean {
    return this.#isClaimed;
  }

  get isKept(): boolean {
    return this.#isClaimed || this.ms > 0;
  }

  /** @param leastMs the shortest time */
  begin(leastMs = 0): void {
    this.end();
    if (!this.#isClaimed)
      this.#timer = setTimeout(this.#onOver, Math.max(this.ms, leastMs)).unref();
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  claim(isClaimed: boolean, isIdle: boolean): void {
    if (isClaimed === this.#isClaimed) return;
    this.#isClaimed = isClaimed;
    if (isClaimed) this.end();
    else if (isIdle) this.begin();
  }

  /** @param passedMs since the last run */
  left(passedMs: number): number {
    const left = this.ms - passedMs;
    return this.#isClaimed ? Math.max(left, ADOPTED_MS) : left;
  }
}

/** After this many failed runs in a row the container is to blame rather than the inputs. */
const MAX_FAILED_RUNS = 3;

export class Occupancy {
  #users = 0;
  #joins: number;
  #startedFor: string | undefined;
  /** Users whose result is not wanted any more. */
  #abandoned = 0;
  #shared = false;
  #failures = 0;
  /** Failed runs after which it may be dying. */
  #pendingVerdicts = 0;

  /** @param hasRun whether an adopted container was used before */
  constructor(hasRun: boolean) {
    this.#joins = hasRun ? 1 : 0;
  }

  get users(): number {
    return this.#users;
  }

  get hasBeenUsed(): boolean {
    return this.#joins > 0;
  }

  get hasRunBefore(): boolean {
    return this.#joins > 1;
  }

  /**
   * Whether runs have overlapped since the container was last unused; if so, its logs belong to no single
   * run.
   */
  get isShared(): boolean {
    return this.#shared;
  }

  /** Whether a run in the container may have broken it, which will be known shortly. */
  get isSuspect(): boolean {
    return this.#pendingVerdicts > 0;
  }

  get isToBlame(): boolean {
    return this.#failures >= MAX_FAILED_RUNS;
  }

  /** Whether no result of its runs is wanted. */
  get isAbandoned(): boolean {
    return this.#abandoned >= this.#users;
  }

  /** The run that joined a new container first: it was started for that run. */
  get startedFor(): string | undefined {
    return this.#startedFor;
  }

  join(run: string): void {
    if (!this.hasBeenUsed) this.#startedFor = run;
    this.#shared = this.#users > 0;
    this.#users += 1;
    this.#joins += 1;
  }

  leave(outcome: Outcome | undefined): void {
    this.#users -= 1;
    if (outcome && !outcome.notContainersFault)
      this.#failures = outcome.finish.status === "failed" ? this.#failures + 1 : 0;
  }

  /** @returns whether it may be used again, once that is known */
  async judge(verdict: NonNullable<Outcome["verdict"]>): Promise<boolean> {
    this.#pendingVerdicts += 1;
    const judged = await verdict;
    this.#pendingVerdicts -= 1;
    return judged === "kept";
  }

  /** @returns what the run calls before it leaves */
  abandon(): () => void {
    this.#abandoned += 1;
    return () => {
      this.#abandoned -= 1;
    };
  }
}
