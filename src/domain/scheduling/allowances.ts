/**
 * The number of jobs that runners may have and have not reported on. A runner begins with a few and may have
 * one more with each that it reports on: while it works, this doubles with each round. The runners of a token
 * that have reported on none, or were silent since, share the token's allowance, so that new names are no way
 * around it. A runner that was silent begins again with less.
 */
import { LRUCache } from "lru-cache";

/**
 * The most jobs of runners that have reported on none: each is delayed by a second, after which others get
 * it.
 */
const FIRST = { runner: 4, token: 8 };
const AFTER_SILENCE = { runner: 1, token: 4 };
/** The most jobs that the runners of a token share, however many were reported with it. */
const MAX_SHARED = 32;
const MAX_KNOWN = 20_000;

interface Conduct {
  /** Reports since the last silence. */
  reports: number;
  wasSilent: boolean;
}

/** A runner and its token, by their ids. */
export interface Holder {
  runnerId: string;
  token: string;
}

export class Allowances {
  /** Conduct of runners and of tokens, by their ids. */
  readonly #conducts = new LRUCache<string, Conduct>({ max: MAX_KNOWN });

  /** Records that a runner has reported on a job. */
  reported({ runnerId, token }: Holder): void {
    for (const id of [runnerId, token]) {
      const { reports = 0, wasSilent = false } = this.#conducts.get(id) ?? {};
      this.#conducts.set(id, { reports: reports + 1, wasSilent });
    }
  }

  /** Records that a runner has not reported on a job in time. */
  silent({ runnerId, token }: Holder): void {
    for (const id of this.isProven(runnerId) ? [runnerId] : [runnerId, token])
      this.#conducts.set(id, { reports: 0, wasSilent: true });
  }

  /** Forgets the conduct of a runner that an operator has resumed. */
  forget(runnerId: string): void {
    this.#conducts.delete(runnerId);
  }

  /** Whether the runner has reported on a job since it was silent. */
  isProven(runnerId: string): boolean {
    return (this.#conducts.get(runnerId)?.reports ?? 0) > 0;
  }

  /**
   * How many more jobs a runner may be handed.
   * @param own the jobs that it has not reported on
   * @param shared the unreported jobs of the token's runners that are not proven
   */
  left({ runnerId, token }: Holder, { own, shared }: { own: number; shared: number }): number {
    const left = this.#most(runnerId, "runner") - own;
    if (this.isProven(runnerId)) return Math.max(0, left);
    const most = Math.min(this.#most(token, "token"), MAX_SHARED);
    return Math.max(0, Math.min(left, most - shared));
  }

  #most(id: string, of: "runner" | "token"): number {
    const { reports = 0, wasSilent = false } = this.#conducts.get(id) ?? {};
    return (wasSilent ? AFTER_SILENCE : FIRST)[of] + reports;
  }
}
