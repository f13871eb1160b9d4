/** The activity of a container, for the pool: its phase, its runs and its idle time. */
import type { ContainerState } from "../../../src/protocol/runner-state.ts";
import type { Measures } from "./measures.ts";

/** The runner reports at most this many runs of a container. */
const MAX_RUNS = 1_000;

export class Activity {
  readonly #key: string;
  readonly #measures: Measures;
  #phase: ContainerState["phase"] = "starting";
  #since = performance.now();
  #idleSince = this.#since;
  readonly #runs = new Set<{ since: number }>();

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
    this.#enter("ready");
  }

  /** Milliseconds since the last user left; meaningful only while the container has no user. */
  get idleMs(): number {
    return msSince(this.#idleSince);
  }

  stopping(): void {
    if (this.#phase !== "stopping") this.#enter("stopping");
  }

  /** A run begins. @returns to be called when the run has ended, with whether it succeeded */
  run(): (succeeded: boolean) => void {
    const run = { since: performance.now() };
    this.#runs.add(run);
    return (succeeded) => {
      this.#runs.delete(run);
      // The duration of a stopped or failed run does not predict the next run's.
      if (succeeded) this.#measures.add({ key: this.#key, run_ms: msSince(run.since) });
    };
  }

  /** A user has left. */
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
    this.#phase = phase;
    this.#since = performance.now();
  }
}

const msSince = (time: number) => Math.round(performance.now() - time);
