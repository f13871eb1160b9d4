/**
 * Shares of accounts in a class, now and on average: a flood of one account leaves room for the others, which
 * taking turns alone does not ensure. Shares are counted in containers: a job in one that takes four at a
 * time is a quarter.
 */
import type { Ask } from "./types.ts";

/** Room is left for accounts that have asked within this time. */
const RECENT_MS = 300_000;
/** The time constant of an account's average share: older use counts a third at most. */
const MEAN_MS = 300_000;
/** A smaller average counts as nothing. */
const LEAST_MEAN = 0.001;

class Use {
  held = 0;
  jobs = 0;
  #mean = 0;
  #since = 0;

  change(held: number, jobs: number, now: number): void {
    this.#mean = this.mean(now);
    this.#since = now;
    this.jobs += jobs;
    // Sums of fractions leave rounding errors: a use without jobs is exactly 0.
    this.held = this.jobs === 0 ? 0 : this.held + held;
  }

  mean(now: number): number {
    const fade = Math.exp(-Math.max(0, now - this.#since) / MEAN_MS);
    return this.held + (this.#mean - this.held) * fade;
  }
}

interface LastAsk {
  account: string;
  at: number;
}

class ClassShares {
  readonly all = new Use();
  readonly accounts = new Map<string, Use>();
  /** The last ask, and the last one by another account. */
  last: LastAsk | undefined;
  lastOther: LastAsk | undefined;
}

export class Shares {
  readonly #classes = new Map<string, ClassShares>();

  asked({ hardware, account, at }: Ask): void {
    const shares = this.#class(hardware);
    if (shares.last?.account !== account) shares.lastOther = shares.last;
    shares.last = { account, at };
    forgetOne(shares.accounts, at);
  }

  take({ hardware, account, max_concurrency }: Ask, now: number): void {
    this.#change(hardware, account, 1 / max_concurrency, 1, now);
  }

  giveBack({ hardware, account, max_concurrency }: Ask, now: number): void {
    this.#change(hardware, account, -1 / max_concurrency, -1, now);
  }

  held(hardware: string, account: string): number {
    return this.#classes.get(hardware)?.accounts.get(account)?.held ?? 0;
  }

  jobs(hardware: string, account: string): number {
    return this.#classes.get(hardware)?.accounts.get(account)?.jobs ?? 0;
  }

  /** Mean number of containers of a class that all other accounts have filled recently. */
  meanOfOthers(hardware: string, account: string, now: number): number {
    const shares = this.#classes.get(hardware);
    if (!shares) return 0;
    return Math.max(0, shares.all.mean(now) - (shares.accounts.get(account)?.mean(now) ?? 0));
  }

  /** Until when room is left for others that have asked for the class lately; 0 if no others have. */
  wantedUntil(hardware: string, account: string): number {
    const { last, lastOther } = this.#classes.get(hardware) ?? {};
    const ask = last?.account === account ? lastOther : last;
    return ask ? ask.at + RECENT_MS : 0;
  }

  #change(hardware: string, account: string, held: number, jobs: number, now: number): void {
    const { all, accounts } = this.#class(hardware);
    let use = accounts.get(account);
    if (!use) {
      use = new Use();
      accounts.set(account, use);
    }
    for (const one of [use, all]) one.change(held, jobs, now);
  }

  #class(hardware: string): ClassShares {
    let shares = this.#classes.get(hardware);
    if (!shares) {
      shares = new ClassShares();
      this.#classes.set(hardware, shares);
    }
    return shares;
  }
}

/** Forgets the next account in turn, if it has no use and had none recently. */
function forgetOne(accounts: Map<string, Use>, now: number): void {
  const [first] = accounts;
  if (!first) return;
  const [account, use] = first;
  accounts.delete(account);
  if (use.jobs > 0 || use.mean(now) >= LEAST_MEAN) accounts.set(account, use);
}
