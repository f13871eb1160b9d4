/** A box as its pool knows it: its last report, and the hand-outs after it as if it had received them. */
import { type Job, queueKeyOf } from "./line.ts";
import type { BoxView, Handout } from "./types.ts";

export interface Container {
  readonly id: string;
  readonly box: Box;
  readonly queueKey: string;
  readonly key: string;
  readonly hardware: string;
  readonly gpus: number;
  readonly max_concurrency: number;
  readonly phase: "starting" | "ready" | "stopping";
  readonly since: number;
  /** Since when the container has no user, if the box has reported that. */
  readonly idle_since: number | undefined;
  users: number;
  runs: number[];
  /** Whether a claim holds the container: it is not stopped for others. */
  claimed: boolean;
}

export interface Handed extends Handout {
  job: Job;
  stopped: readonly string[];
  /** Whether the container was ready for the hand-out, or has become ready. */
  began: boolean;
}

export class Box {
  readonly id: string;
  /** Whether the box can be handed jobs now. */
  takes = false;
  /** Whether containers of the box count for claims, also while it does not poll for a moment. */
  holds = false;
  /** Rises when a report of the box differs from the one before. */
  state = 0;
  readonly containers = new Map<string, Container>();
  /** Hand-outs that the box may still have, by number. */
  readonly handouts = new Map<number, Handed>();
  classes: ReadonlySet<string> = new Set();
  freeGpus = 0;
  freeSlots = 0;
  /** Free slots, including those that get no job before the box has reported on others. */
  unusedSlots = 0;
  freeContainers = 0;
  idleGpus = 0;
  idleContainers = 0;
  usedGpus = 0;
  claimedGpus = 0;
  #claimedContainers = 0;
  #view: BoxView;
  #reported = "";
  #lastNumber = 0;

  constructor(view: BoxView) {
    this.id = view.id;
    this.#view = view;
  }

  get gpus(): number {
    return this.#view.gpus;
  }

  get shape(): string {
    const { classes, gpus, slots, containers_max } = this.#view;
    return JSON.stringify([classes, gpus, slots, containers_max]);
  }

  /**
   * Takes a report.
   * @param since hand-outs whose run had to end before that have ended, whatever the box reports
   * @returns the hand-outs that have ended or were declined, and those whose container has become ready
   */
  report(view: BoxView, since: number): { ended: Handed[]; declined: Handed[]; began: Handed[] } {
    const reported = textOf(view);
    if (reported !== this.#reported) this.state += 1;
    this.#reported = reported;
    this.#view = view;
    this.#lastNumber = Math.max(this.#lastNumber, view.handed);
    this.classes = new Set(view.classes);
    const still = new Set(view.handouts);
    const over = [...this.handouts.values()].filter(
      ({ number, at, ask }) =>
        (number <= view.handed && !still.has(number)) || at + ask.run_limit_ms < since,
    );
    for (const { number } of over) this.handouts.delete(number);
    this.#assume();
    const isDeclined = ({ number }: Handed) => view.declined?.includes(number) ?? false;
    return {
      ended: over.filter((one) => !isDeclined(one)),
      declined: over.filter(isDeclined),
      began: this.#begun(),
    };
  }

  /**
   * Returns the hand-outs whose run begins in a container that has become ready since they were handed out. A
   * box does not report which container a job is in: the last hand-outs of a queue key, as many as its starting
   * containers have users, are taken to be in those.
   */
  #begun(): Handed[] {
    const starting = new Map<string, number>();
    for (const view of this.#view.containers) {
      const queueKey = queueKeyOf(view);
      if (view.phase === "starting")
        starting.set(queueKey, (starting.get(queueKey) ?? 0) + view.users);
    }
    const begun: Handed[] = [];
    for (const one of [...this.handouts.values()].toReversed()) {
      if (one.began || one.number > this.#view.handed) continue;
      const queueKey = queueKeyOf(one.ask);
      const left = starting.get(queueKey) ?? 0;
      starting.set(queueKey, left - 1);
      if (left <= 0 && this.#isReady(one)) begun.push(one);
    }
    for (const one of begun) one.began = true;
    return begun;
  }

  #isReady({ ask, at }: Handed): boolean {
    const queueKey = queueKeyOf(ask);
    for (const one of this.containers.values())
      if (one.queueKey === queueKey && one.phase === "ready" && one.users > 0 && one.since >= at)
        return true;
    return false;
  }

  hand(job: Job, chosen: { container?: string; stop: readonly string[] }, now: number): Handed {
    // A number is not less than the time: numbers rise also when the pool has forgotten the last one.
    this.#lastNumber = Math.max(this.#lastNumber + 1, Math.floor(now));
    const number = this.#lastNumber;
    const handed: Handed = {
      number,
      box: this.id,
      ask: job.ask,
      job,
      at: now,
      container: chosen.container ?? `new ${number}`,
      starts: chosen.container === undefined,
      stop: chosen.stop,
      stopped: chosen.stop.flatMap((id) => this.containers.get(id)?.key ?? []),
      began: this.containers.get(chosen.container ?? "")?.phase === "ready",
    };
    this.handouts.set(number, handed);
    this.#put(handed);
    this.#count();
    return handed;
  }

  /** Takes back a hand-out that the box never got, or declined. */
  takeBack(number: number): Handed | undefined {
    const handed = this.handouts.get(number);
    this.handouts.delete(number);
    if (handed) this.#assume();
    return handed;
  }

  serves(hardware: string): boolean {
    return this.classes.has(hardware);
  }

  /** Whether a container for the job could be started without stopping another. */
  fits(gpus: number): boolean {
    return this.freeSlots > 0 && this.freeContainers > 0 && this.freeGpus >= gpus;
  }

  /** Whether a container for the job could be started if idle ones may be stopped. */
  couldFit(gpus: number): boolean {
    return (
      this.freeSlots > 0 &&
      this.freeContainers + this.idleContainers > 0 &&
      this.freeGpus + this.idleGpus >= gpus
    );
  }

  /** How many containers of a class could be started without stopping another. */
  startable(gpus: number): number {
    const fit = gpus > 0 ? Math.floor(this.freeGpus / gpus) : this.freeContainers;
    return Math.min(fit, this.freeContainers, this.freeSlots);
  }

  hasImage(image: string): boolean {
    return this.#view.images.has(image);
  }

  /** How many containers of a class the box could have, if it had no other but those that claims hold. */
  capacity(gpus: number): number {
    const { slots } = this.#view;
    const most = Math.max(0, this.#view.containers_max - this.#claimedContainers);
    const fit =
      gpus > 0 ? Math.floor(Math.max(0, this.#view.gpus - this.claimedGpus) / gpus) : most;
    return Math.min(fit, slots, most);
  }

  /** Counts again, after claims have changed which containers they hold. */
  recount(): void {
    this.#count();
  }

  *idle(): Generator<Container> {
    for (const one of this.containers.values()) if (isIdle(one)) yield one;
  }

  #assume(): void {
    this.containers.clear();
    for (const view of this.#view.containers) {
      const { id, key, hardware, gpus, max_concurrency, phase, since, idle_since, users } = view;
      const what = {
        id,
        box: this,
        queueKey: queueKeyOf(view),
        key,
        hardware,
        gpus,
        max_concurrency,
      };
      const runs = [...view.runs];
      this.containers.set(id, { ...what, phase, since, idle_since, users, runs, claimed: false });
    }
    for (const handed of this.handouts.values())
      if (handed.number > this.#view.handed) this.#put(handed);
    this.#count();
  }

  #put({ ask, at, container, stop, starts }: Handed): void {
    for (const id of stop) this.containers.delete(id);
    const queueKey = queueKeyOf(ask);
    const joined = starts
      ? undefined
      : (this.containers.get(container) ?? this.#joinable(queueKey));
    if (joined) {
      joined.users += 1;
      if (joined.phase === "ready") joined.runs.push(at);
      return;
    }
    const { key, hardware, gpus, max_concurrency } = ask;
    const what = { id: container, box: this, queueKey, key, hardware, gpus, max_concurrency };
    const state = { phase: "starting", since: at, idle_since: undefined, users: 1 } as const;
    this.containers.set(container, { ...what, ...state, runs: [], claimed: false });
  }

  /** Finds a container that takes another job of the queue key, after it has become known under its own name. */
  #joinable(queueKey: string): Container | undefined {
    return [...this.containers.values()].find((one) => one.queueKey === queueKey && canTake(one));
  }

  #count(): void {
    const { slots, jobs_max = slots, gpus, containers_max, handed, handouts } = this.#view;
    let held = 0;
    this.idleGpus = 0;
    this.idleContainers = 0;
    this.usedGpus = 0;
    this.claimedGpus = 0;
    this.#claimedContainers = 0;
    for (const one of this.containers.values()) {
      held += one.gpus;
      if (one.claimed) {
        this.claimedGpus += one.gpus;
        this.#claimedContainers += 1;
      }
      if (one.users > 0) this.usedGpus += one.gpus;
      if (!isIdle(one)) continue;
      this.idleGpus += one.gpus;
      this.idleContainers += 1;
    }
    let runs = handouts.length;
    for (const { number } of this.handouts.values()) if (number > handed) runs += 1;
    // The difference is below zero while a container stops and its replacement is reported already.
    this.freeGpus = Math.max(0, gpus - held);
    this.freeContainers = Math.max(0, containers_max - this.containers.size);
    this.unusedSlots = Math.max(0, slots - runs);
    this.freeSlots = Math.max(0, Math.min(slots, jobs_max) - runs);
  }
}

/**
 * Whether the container may be stopped for another: no job uses it, and no claim holds it. It may start for a job
 * that was canceled: it may take the next one.
 */
export const isIdle = ({ phase, users, claimed }: Container): boolean =>
  phase !== "stopping" && users === 0 && !claimed;

export const canTake = ({ phase, users, max_concurrency }: Container): boolean =>
  phase !== "stopping" && users < max_concurrency;

function textOf({ classes, slots, gpus, containers_max, containers, handouts }: BoxView): string {
  const shown = containers.map(({ id, key, phase, users, gpus }) => [id, key, phase, users, gpus]);
  return JSON.stringify([classes, slots, gpus, containers_max, handouts.length, shown]);
}
