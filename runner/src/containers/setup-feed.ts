/** The progress of a container's setup, for the runs that wait for it. */
import type { SetupProgress } from "../../../src/protocol/event.ts";

/** Characters of logs kept for runs that join while the container starts. */
const MAX_LOG_CHARS = 100_000;

export type SetupListener = (progress: SetupProgress) => void;

export class SetupFeed {
  readonly #listeners = new Set<SetupListener>();
  #phase: SetupProgress | undefined;
  #logs = "";

  readonly publish = (progress: SetupProgress): void => {
    const { logs, ...phase } = progress;
    this.#phase = phase;
    this.#logs = (this.#logs + (logs ?? "")).slice(-MAX_LOG_CHARS);
    for (const listener of this.#listeners) listener(progress);
  };

  /**
   * Calls the listener with the progress so far and with later progress.
   * @returns a function that ends the calls
   */
  subscribe(listener: SetupListener): () => void {
    if (this.#phase) listener(this.#phase);
    if (this.#phase && this.#logs) listener({ ...this.#phase, logs: this.#logs });
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
