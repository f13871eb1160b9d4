/** The line of a class as one decision sees it: the fair order, and the jobs that are kept back. */

import type { Fleet } from "./fleet.ts";
import type { ClassLine, Job, TurnOf } from "./line.ts";
import type { Shares } from "./shares.ts";
import { LEVELS, type Settings } from "./types.ts";

/** The most jobs of a class that are looked at, from the first in turn. */
export const LOOK_AHEAD = 200;
/** Jobs of an account with this share of the line, and times the jobs it runs, come after others. */
const MANY = { line: 1 / 4, running: 2 };
/**
 * An account that has so much of the line, and so many times the number that all boxes can run, gets only the
 * room that the others leave, on average and two standard deviations beyond, as if their jobs came by chance.
 * Half of the class would take from the others the room that their setups need: in the simulation their p95
 * was up to 6 times as long as without the flood.
 */
const FLOOD = { line: 1 / 2, capacities: 2, deviations: 2, look_ms: 10_000 };

interface Known {
  shares: Shares;
  fleet: Fleet;
  settings: Settings;
}

export class ClassLook {
  readonly hardware: string;
  readonly line: ClassLine;
  readonly now: number;
  /** When an account that is left out may be let in, though nothing changes until then. */
  until = Number.POSITIVE_INFINITY;
  readonly #state: Known;
  readonly #turns = new Map<string, ReturnType<TurnOf>>();
  readonly #servableKeys = new Map<string, boolean>();
  #candidates: Job[] | undefined;
  #firsts: Job[] | undefined;

  constructor(state: Known, hardware: string, line: ClassLine, now: number) {
    this.#state = state;
    this.hardware = hardware;
    this.line = line;
    this.now = now;
  }

  /** Jobs in fair order, without those of accounts that have their share, and those that no container may serve. */
  get candidates(): readonly Job[] {
    const order = this.line.order(this.now, this.turnOf);
    this.#candidates ??= [...taken(this.#servable(order), LOOK_AHEAD)];
    return this.#candidates;
  }

  /** The first in turn of each priority. */
  get firsts(): readonly Job[] {
    this.#firsts ??= LEVELS.flatMap((level) => [
      ...taken(this.#servable(this.line.orderOf(level, this.now, this.turnOf)), 1),
    ]);
    return this.#firsts;
  }

  readonly turnOf: TurnOf = (account) => {
    let turn = this.#turns.get(account);
    if (turn === undefined) {
      turn = this.#findTurn(account);
      this.#turns.set(account, turn);
    }
    return turn;
  };

  /** How many containers of the class an account may fill now. */
  mostFor(account: string): number {
    const { hardware, line, now } = this;
    const { shares, settings } = this.#state;
    const wantedUntil = line.hasOthers(account)
      ? Number.POSITIVE_INFINITY
      : shares.wantedUntil(hardware, account);
    if (wantedUntil <= now) return Number.POSITIVE_INFINITY;
    // A claim may always fill its own containers.
    const least = Math.max(1, this.#state.fleet.claims.get(account)?.min ?? 0);
    const most = Math.floor(this.#capacity * settings.account_share);
    const isFlood = this.#floods(account);
    this.until = Math.min(this.until, isFlood ? now + FLOOD.look_ms : wantedUntil);
    return Math.max(least, isFlood ? Math.min(most, this.#leftBy(account)) : most);
  }

  /** Leaves out the jobs of keys that may have no more containers, and whose containers are full. */
  *#servable(jobs: Iterable<Job>): Generator<Job> {
    for (const job of jobs) {
      const { queueKey } = job;
      let isServable = this.#servableKeys.get(queueKey);
      if (isServable === undefined) {
        const { fleet } = this.#state;
        isServable = fleet.mayGrow(queueKey) || fleet.joinable(queueKey, () => true) !== undefined;
        this.#servableKeys.set(queueKey, isServable);
      }
      if (isServable) yield job;
    }
  }

  get #capacity(): number {
    return this.#state.fleet.capacity(this.hardware, this.line.gpus);
  }

  #findTurn(account: string): ReturnType<TurnOf> {
    const { hardware, line } = this;
    const { shares } = this.#state;
    const held = shares.held(hardware, account);
    // An account gets its first container in its turn.
    if (held < 1) return "in turn";
    if (held >= this.mostFor(account)) return "out";
    const count = line.count(account);
    const isMany =
      count > line.size * MANY.line && count > MANY.running * shares.jobs(hardware, account);
    return isMany && line.hasOthers(account) ? "behind" : "in turn";
  }

  #floods(account: string): boolean {
    const count = this.line.count(account);
    return count > FLOOD.capacities * this.#capacity && count > this.line.size * FLOOD.line;
  }

  /** Returns the room that the others leave of the class, on average and when they need more than that. */
  #leftBy(account: string): number {
    const others = this.#state.shares.meanOfOthers(this.hardware, account, this.now);
    const left = this.#capacity - others - FLOOD.deviations * Math.sqrt(others);
    return Math.floor(left);
  }
}

function* taken<Value>(values: Iterable<Value>, most: number): Generator<Value> {
  let count = 0;
  for (const value of values) {
    if (count === most) return;
    count += 1;
    yield value;
  }
}
