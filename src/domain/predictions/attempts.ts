/**
 * The attempts of a prediction: each is one hand-out to a runner, with a number that only rises.
 * Normally one is open. A second is opened next to one whose runner has not connected within a
 * second; whichever of the two connects first keeps the job.
 *
 * An attempt taken from its runner is *lost* if the runner had connected. If it had not, it is
 * *dismissed*: the runner may still be on its way, and its connecting late is no fault of its own.
 */

/** Read-only: only AttemptSet writes it. Times are unix ms. */
export interface Attempt {
  readonly number: number;
  readonly secret: string;
  readonly opened_at: number;
  /** Whether the runner has connected, and whether it has sent its last frame. */
  readonly contact: "none" | "connected" | "finished";
  /** When the runner first reported; null while the attempt has only been handed out. */
  readonly started_at: number | null;
  readonly ready_at: number | null;
  /** Null until the runner has connected. */
  readonly runner_id: string | null;
  /** When the runner was last heard before its channel closed; null while one is open. */
  readonly last_seen_at: number | null;
  /** When a second attempt is offered because this one's runner has not connected; null once one is open. */
  readonly second_at: number | null;
  /** Whether the runner was given time to return because the object itself had restarted. */
  readonly grace_granted: boolean;
  readonly stored: number;
}

export interface AttemptsState {
  readonly attempt: Attempt | null;
  /** A second attempt at the same job by another runner, while neither has connected. */
  readonly second: Attempt | null;
  /** Oldest first. Each is kept until its runner connects or its time to connect is over. */
  readonly dismissed: readonly Attempt[];
  /** Whether any attempt was taken from a runner that may have reported. */
  readonly taken_back: boolean;
  /** How many attempts were opened: the number of the last one. */
  readonly attempt_count: number;
  /** How many of them a runner began: an offer that no runner took is none. */
  readonly begun_count: number;
}

export type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** A live runner connects sooner. After this a second attempt is offered to another runner. */
const SECOND_MS = 1_000;

/** The count of stored objects is saved every so many: an evicted object forgets fewer. */
export const STORED_SAVE_INTERVAL = 100;

/** Files and values of one attempt. A runner allows 10,000 files; one that is sent again counts again. */
export const MAX_STORED_OBJECTS = 20_000;

export const NO_ATTEMPTS: AttemptsState = {
  attempt: null,
  second: null,
  dismissed: [],
  taken_back: false,
  attempt_count: 0,
  begun_count: 0,
};

export class AttemptSet {
  readonly #state: Writable<AttemptsState>;
  #lost: Attempt[] = [];

  constructor(state: AttemptsState) {
    this.#state = state;
  }

  /** All attempts whose runners may connect: the open ones and those dismissed. */
  get expected(): Attempt[] {
    const { attempt, second, dismissed } = this.#state;
    return [attempt, second, ...dismissed].filter((one) => one !== null);
  }

  isOpen(number: number): boolean {
    const { attempt, second } = this.#state;
    return attempt?.number === number || second?.number === number;
  }

  takeLost(): Attempt[] {
    return this.#lost.splice(0);
  }

  open(secret: string, now: number): Attempt {
    const attempt: Attempt = {
      number: ++this.#state.attempt_count,
      secret,
      opened_at: now,
      contact: "none",
      started_at: null,
      ready_at: null,
      runner_id: null,
      last_seen_at: null,
      second_at: now + SECOND_MS,
      grace_granted: false,
      stored: 0,
    };
    if (this.#state.attempt) this.#state.second = attempt;
    else this.#state.attempt = attempt;
    return attempt;
  }

  /** Null unless an attempt is open that has not started, and no second one is open or has been. */
  openSecond(secret: string, now: number): Attempt | null {
    const first = this.#writable(this.#state.attempt?.number);
    if (!first || first.started_at !== null || first.second_at === null) return null;
    first.second_at = null;
    return this.open(secret, now);
  }

  /** Closes an attempt that was handed to nobody. The other, if there are two, stays open. */
  close(number: number, now: number): boolean {
    if (!this.isOpen(number)) return false;
    const first = this.#writable(this.#state.attempt?.number);
    if (first?.number === number) this.#state.attempt = this.#state.second;
    // No runner had room for the second attempt: it is offered again.
    else if (first) first.second_at = now + SECOND_MS;
    this.#state.second = null;
    return true;
  }

  /** Notes that an attempt's runner has connected. @returns whether that dismissed the other attempt */
  confirm(number: number): boolean {
    const { attempt, second } = this.#state;
    const [confirmed, other] = second?.number === number ? [second, attempt] : [attempt, second];
    const writable = this.#writable(number);
    if (!writable || confirmed?.number !== number) return false;
    if (writable.contact === "none") writable.contact = "connected";
    if (!other) return false;
    this.#state.attempt = confirmed;
    this.#state.second = null;
    this.#dismiss(other);
    return true;
  }

  /** Takes all attempts from their runners. `clear` or the prediction's end follows. */
  dismissOpen(): void {
    const { attempt, second } = this.#state;
    for (const one of [attempt, second]) if (one) this.#dismiss(one);
    this.#state.second = null;
  }

  clear(): void {
    this.#state.attempt = null;
    this.#state.second = null;
  }

  /** Notes that an attempt's runner has connected. @returns whether the attempt was dismissed */
  resolveDismissed(number: number): boolean {
    const { dismissed } = this.#state;
    this.#state.dismissed = dismissed.filter((one) => one.number !== number);
    return this.#state.dismissed.length < dismissed.length;
  }

  /** Removes the oldest dismissed attempt, whose runner has not connected in time. */
  expireDismissed(): Attempt | undefined {
    const [oldest, ...rest] = this.#state.dismissed;
    this.#state.dismissed = rest;
    return oldest;
  }

  setRunner(number: number, runnerId: string): void {
    const attempt = this.#writable(number);
    if (attempt) attempt.runner_id = runnerId;
  }

  start(now: number): boolean {
    const attempt = this.#writable(this.#state.attempt?.number);
    if (!attempt || attempt.started_at !== null) return false;
    attempt.started_at = now;
    this.#state.begun_count += 1;
    attempt.contact = "connected";
    return true;
  }

  markReady(now: number): boolean {
    const attempt = this.#writable(this.#state.attempt?.number);
    if (!attempt || attempt.ready_at !== null) return false;
    attempt.ready_at = now;
    return true;
  }

  /** Notes that the runner of the current attempt has sent its last frame, and so knows of the end. */
  markFinished(): void {
    const attempt = this.#writable(this.#state.attempt?.number);
    if (attempt) attempt.contact = "finished";
  }

  /** @returns whether the record must be saved: it then grants grace again after a restart */
  channelOpened(number: number): boolean {
    const attempt = this.#writable(number);
    if (!attempt || attempt.last_seen_at === null) return false;
    attempt.last_seen_at = null;
    attempt.grace_granted = false;
    return true;
  }

  /** Notes that the channel of the current attempt has closed: its lease counts from here. */
  channelClosed(now: number): void {
    const attempt = this.#writable(this.#state.attempt?.number);
    if (attempt) attempt.last_seen_at = now;
  }

  /** @returns false if the current attempt had its grace, or its channel is known to have closed */
  grantGrace(lastSeenAt: number): boolean {
    const attempt = this.#writable(this.#state.attempt?.number);
    if (!attempt || attempt.last_seen_at !== null || attempt.grace_granted) return false;
    attempt.grace_granted = true;
    attempt.last_seen_at = lastSeenAt;
    return true;
  }

  /** Counts a file or value that is about to be written. @returns whether the count is to be saved */
  countStored(number: number): boolean {
    const attempt = this.#writable(number);
    if (!attempt) return false;
    attempt.stored += 1;
    return attempt.stored % STORED_SAVE_INTERVAL === 0;
  }

  #dismiss(attempt: Attempt): void {
    this.#state.taken_back = true;
    if (attempt.contact === "none") this.#state.dismissed = [...this.#state.dismissed, attempt];
    if (attempt.contact === "connected") this.#lost.push(attempt);
  }

  #writable(number: number | undefined): Writable<Attempt> | undefined {
    return this.expected.find((one) => one.number === number);
  }
}
