/** Jobs that will arrive over the dispatch queue: they count towards their account's limit from now on. */

/** A job that has not arrived by then was lost: its prediction will send it again. */
const ANNOUNCEMENT_MS = 60_000;

export class AnnouncedJobs {
  readonly #announced = new Map<string, { account: string; at: number }>();
  readonly #counts = new Map<string, number>();

  announce(id: string, account: string, now: number): void {
    this.#expire(now);
    this.remove(id);
    this.#announced.set(id, { account, at: now });
    this.#counts.set(account, (this.#counts.get(account) ?? 0) + 1);
  }

  remove(id: string): void {
    const { account } = this.#announced.get(id) ?? {};
    if (account === undefined) return;
    this.#announced.delete(id);
    const left = (this.#counts.get(account) ?? 0) - 1;
    if (left > 0) this.#counts.set(account, left);
    else this.#counts.delete(account);
  }

  count(account: string, now: number): number {
    this.#expire(now);
    return this.#counts.get(account) ?? 0;
  }

  #expire(now: number): void {
    for (const [id, { at }] of this.#announced) {
      if (now - at <= ANNOUNCEMENT_MS) return;
      this.remove(id);
    }
  }
}
