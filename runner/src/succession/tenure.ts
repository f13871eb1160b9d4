/** A process has its runner's name: it has taken that over from the one before it, until the next one does. */
import { untilAborted } from "../../../src/lib/timeout.ts";
import { messageOf } from "../control-plane/error.ts";
import type { Executor } from "../jobs/executor.ts";
import type { Log } from "../lib/log.ts";
import { ONLY_SEAT, type Seat } from "../lib/seat.ts";
import type { Household, OpenDoor, Successor } from "./door.ts";
import type { Predecessor } from "./predecessor.ts";

export interface TenureOptions {
  executor: Pick<Executor, "settled" | "holdings" | "letThrough">;
  /** The process before this one, if it goes on with its runs. */
  predecessor?: Predecessor | undefined;
  /** The process before this one is killed when this one ends. */
  isMainProcess?: boolean;
  /** Lets another process take over. */
  openDoor?: (household: Household) => Promise<OpenDoor | undefined>;
  seat?: Seat;
  /** Called when it has taken over from the process before it, which may end once this has resolved. */
  onSucceeded?: () => Promise<void>;
  log: Log;
}

export class Tenure {
  /** Aborted when another process has taken over. */
  readonly over: AbortSignal;
  readonly #options: TenureOptions;
  readonly #running: () => string[];
  readonly #onOver: (successor: Successor) => void;
  readonly #over = new AbortController();
  #door: OpenDoor | undefined;
  #hasBegun = false;
  #isEnding = false;

  /** @param running ids of predictions @param onOver called when another process has taken over */
  constructor(
    options: TenureOptions,
    running: () => string[],
    onOver: (successor: Successor) => void,
  ) {
    this.#options = options;
    this.#running = running;
    this.#onOver = onOver;
    this.over = this.#over.signal;
  }

  /** To be called when what it has is not the same any more. */
  changed(): void {
    this.#door?.changed();
  }

  /** It has registered, not necessarily for the first time. */
  async begin(): Promise<void> {
    const { predecessor, onSucceeded } = this.#options;
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    if (predecessor) {
      await onSucceeded?.();
      predecessor.registered();
    }
    void this.#openDoor();
  }

  /** Resolves when nobody is about to take over. */
  async decided(deadline: AbortSignal): Promise<void> {
    const decided = this.#door?.decided();
    if (decided) await untilAborted(decided, deadline).catch(() => undefined);
  }

  /** Nothing runs here any more. @returns once what both share with this process may be given up */
  async end(deadline: AbortSignal): Promise<void> {
    await this.#outlast(deadline);
    // Who comes now waits for its end, and who is about to take over would lose what both share.
    this.#isEnding = true;
    this.#door?.shut();
    await this.decided(deadline);
  }

  close(): void {
    this.#door?.close();
    this.#options.predecessor?.close();
  }

  /**
   * Not before it is registered: a first registration that comes later would take the name back. And not
   * before the process before it has ended: nobody else may be there while what it has left is removed.
   */
  async #openDoor(): Promise<void> {
    const { executor, openDoor, log, seat = ONLY_SEAT } = this.#options;
    try {
      await executor.settled();
      const door = await openDoor?.({
        state: () => ({ process: seat.process, running: this.#running(), ...executor.holdings() }),
        letThrough: (port) => executor.letThrough(port),
        succeeded: (successor) => {
          this.#onOver(successor);
          this.#over.abort();
        },
      });
      if (this.#isEnding) door?.close();
      else this.#door = door;
    } catch (error) {
      log.warn("no other process can take over from this one", { error: messageOf(error) });
    }
  }

  /** The runs of the process before this one end, too, as far as there is time. */
  async #outlast(deadline: AbortSignal): Promise<void> {
    const { predecessor, isMainProcess, log } = this.#options;
    if (!isMainProcess || !this.#hasBegun || !predecessor?.state) return;
    log.info("waiting for the predictions of the process before this one", {
      running: predecessor.state.running.length,
    });
    await untilAborted(predecessor.ended, deadline).catch(() => undefined);
  }
}
