/** The knowledge of a pool when it hands out jobs. Nothing here reads a clock. */
import { z } from "zod";
import type { Handed } from "./box.ts";
import { ClassLook } from "./class-look.ts";
import { recordDeclined, recordFailedStart } from "./declined.ts";
import { EstimateTable, type Measured, savedEstimates } from "./estimates.ts";
import {
  Demand,
  type EvictionRule,
  EvictionScores,
  type MakeEvictionRule,
  savedDemand,
} from "./eviction-score.ts";
import { Fleet } from "./fleet.ts";
import { Forecasts, savedForecasts } from "./forecasts.ts";
import { type Job, Line, queueKeyOf } from "./line.ts";
import { Shares } from "./shares.ts";
import {
  type Ask,
  type BoxView,
  DEFAULT_SETTINGS,
  type Decision,
  type Handout,
  type Notes,
  type Reservation,
  type Settings,
} from "./types.ts";

/** The end of a run may be known this much later than it is due. */
const ENDING_MS = 120_000;

export const saved = z.object({
  estimates: savedEstimates,
  demand: savedDemand,
  forecasts: savedForecasts,
});
export type Saved = z.infer<typeof saved>;

export class PoolState {
  readonly settings: Settings;
  readonly line = new Line();
  readonly fleet = new Fleet();
  readonly shares = new Shares();
  readonly estimates = new EstimateTable();
  readonly demand = new Demand();
  readonly evictionScores: EvictionRule;
  readonly #handed = new Map<string, Handed>();
  readonly forecasts = new Forecasts();
  /** Jobs that boxes declined, by id, until they are asked for again. */
  readonly #declined = new Map<string, Job>();
  /** The job that was asked for last, unless there is a forecast for it. */
  newest: string | undefined;
  readonly reservations = new Map<string, Reservation>();

  /** @param makeEvictionRule values idle containers; the simulation tries others */
  constructor(
    settings: Partial<Settings> = {},
    makeEvictionRule: MakeEvictionRule = (known) => new EvictionScores(known),
  ) {
    this.settings = { ...DEFAULT_SETTINGS, ...settings };
    this.evictionScores = makeEvictionRule(this);
  }

  get waiting(): number {
    return this.line.size;
  }

  has(jobId: string): boolean {
    return this.line.get(jobId) !== undefined;
  }

  waitingOf(account: string): number {
    const turns = [account];
    for (const [queueKey, claim] of this.fleet.claims)
      if (claim.account === account) turns.push(queueKey);
    let count = 0;
    for (const line of this.line.classes.values())
      for (const turn of turns) count += line.count(turn);
    return count;
  }

  /** The account that a job is of. Jobs of a claim take turns as an account of their own. */
  accountOf({ account }: Pick<Ask, "account">): string {
    return this.fleet.claims.get(account)?.account ?? account;
  }

  waitingFor(hardware: string): number {
    return this.line.classes.get(hardware)?.size ?? 0;
  }

  /** Adds a job to the line. A job that waits already keeps its place, and so does one that was declined. */
  ask(asked: Ask): void {
    const queueKey = queueKeyOf(asked);
    const isClaimed = (this.fleet.claims.get(queueKey)?.min ?? 0) > 0;
    // Jobs of a claim do not count for the share of its account.
    const ask = isClaimed ? { ...asked, account: queueKey } : asked;
    const declined = this.#declined.get(ask.id);
    this.#declined.delete(ask.id);
    if (declined) return this.line.giveBack(declined);
    if (!this.line.add(ask)) return;
    this.demand.add(ask.key, ask.at);
    this.shares.asked(ask);
    this.newest = ask.id;
  }

  /** Withdraws a job that is not needed any more: one on its way to a box does not come back. */
  withdraw(jobId: string): void {
    this.line.remove(jobId);
    this.#declined.delete(jobId);
    this.forecasts.forget(jobId);
    this.#handed.delete(jobId);
  }

  /** Refuses a job that nobody could take at once: it counts as not asked for. */
  refuse(jobId: string, now: number): void {
    const job = this.line.get(jobId);
    if (job) this.demand.take(job.ask.key, now);
    this.withdraw(jobId);
  }

  /** Replaces what is known of a box by its report; hand-outs that it had not received stay on top. */
  report(view: BoxView, now: number): void {
    const box = this.fleet.box(view);
    const since = now - this.settings.setup_limit_ms - ENDING_MS;
    const { ended, declined, began } = box.report(view, since);
    for (const { ask } of began) this.forecasts.began(ask.id, now);
    for (const handed of [...ended, ...declined]) this.#ended(handed, now);
    for (const { job } of declined) {
      recordDeclined(job, box, now);
      this.#declined.set(job.ask.id, job);
    }
    this.#changed(view.id);
  }

  /**
   * Sets whether a box can be handed jobs. One that is full takes them: its report says so.
   * @param holds whether its containers count for claims
   */
  setTakes(boxId: string, takes: boolean, holds = takes): void {
    const box = this.fleet.boxes.get(boxId);
    if (box) this.fleet.setTakes(box, takes, holds);
  }

  leave(boxId: string, now: number): void {
    const box = this.fleet.boxes.get(boxId);
    if (!box) return;
    for (const handed of box.handouts.values()) this.#ended(handed, now);
    this.fleet.remove(box);
  }

  /**
   * Applies a decision, also one to do nothing: its notes are remembered. The effects of a hand-out on its
   * box are assumed from now on.
   * @returns the hand-out, unless there is nothing to do
   */
  apply(decision: Decision, now: number): Handout | undefined {
    this.#remember(decision.notes, now);
    if (decision.do === "nothing") return undefined;
    const box = this.fleet.boxes.get(decision.box);
    const job = box && this.line.get(decision.job);
    if (!box || !job) return undefined;
    this.#countOvertaken(job, now);
    this.line.remove(decision.job);
    const stop = decision.do === "start" ? decision.stop : [];
    this.evictionScores.stop(
      [...box.containers.values()].filter(({ id }) => stop.includes(id)),
      now,
    );
    const chosen = decision.do === "join" ? { container: decision.container, stop } : { stop };
    const handed = box.hand(job, chosen, now);
    this.#handed.set(job.ask.id, handed);
    this.line.passTurn(job.ask);
    this.shares.take(job.ask, now);
    if (handed.began) this.forecasts.began(job.ask.id, now);
    else if (handed.starts) {
      const { mean } = this.estimates.setup(job.ask.key);
      this.forecasts.add({ job: job.ask.id, kind: "start", expected_ms: mean }, now);
    }
    this.#changed(box.id);
    return handed;
  }

  /** Drops a hand-out that has never reached its box, or was declined: the job waits again, in its place. */
  dropped(boxId: string, number: number, now: number): void {
    const handed = this.fleet.boxes.get(boxId)?.takeBack(number);
    if (!handed) return;
    const isNeeded = this.#handed.get(handed.ask.id) === handed;
    this.#ended(handed, now);
    if (isNeeded) this.line.giveBack(handed.job);
    this.#changed(boxId);
  }

  /** Removes a hand-out that its box never came for: the prediction asks for the job itself. */
  lost(boxId: string, number: number, now: number): void {
    const handed = this.fleet.boxes.get(boxId)?.takeBack(number);
    if (!handed) return;
    this.#ended(handed, now);
    this.#changed(boxId);
  }

  /** Keeps a waiting job from being offered to the box before that reports something else than now. */
  exclude(jobId: string, boxId: string, now: number): void {
    const box = this.fleet.boxes.get(boxId);
    const job = this.line.get(jobId);
    if (box && job) recordDeclined(job, box, now);
  }

  /** Has a waiting job offered to other boxes first. @param boxIds whose machines failed to start it */
  failedOn(jobId: string, boxIds: readonly string[], now: number): void {
    const job = this.line.get(jobId);
    if (!job) return;
    for (const [id, times] of Map.groupBy(boxIds, (id) => id))
      recordFailedStart(job, id, times.length, now);
  }

  measured(key: string, measured: Measured): void {
    this.estimates.add(key, measured);
  }

  save(): Saved {
    return {
      estimates: this.estimates.save(),
      demand: this.demand.save(),
      forecasts: this.forecasts.save(),
    };
  }

  load({ estimates, demand, forecasts }: Saved): void {
    this.forecasts.load(forecasts);
    this.estimates.load(estimates);
    this.demand.load(demand);
  }

  #remember({ firsts, warmWaits, reservations }: Notes, now: number): void {
    for (const id of firsts) {
      const job = this.line.get(id);
      if (job) job.first_since = now;
    }
    for (const { job: id, until } of warmWaits) {
      const job = this.line.get(id);
      if (job) job.waits_warm_until = until;
    }
    for (const one of reservations) this.reservations.set(one.hardware, one);
  }

  /** Counts that others, first in turn, were overtaken: those of low priority would wait without end. */
  #countOvertaken(handed: Job, now: number): void {
    const { hardware } = handed.ask;
    const line = this.line.classes.get(hardware);
    if (!line) return;
    for (const first of new ClassLook(this, hardware, line, now).firsts)
      if (first !== handed) first.overtaken += 1;
  }

  #changed(boxId: string): void {
    const box = this.fleet.boxes.get(boxId);
    if (!box) return;
    this.fleet.list(box);
    this.evictionScores.use(box);
  }

  #ended(handed: Handed, now: number): void {
    const { id } = handed.ask;
    if (this.#handed.get(id) === handed) this.#handed.delete(id);
    this.forecasts.forget(id);
    this.shares.giveBack(handed.ask, now);
  }

  handoutOf(jobId: string): Handed | undefined {
    return this.#handed.get(jobId);
  }
}
