/** The open streams and waiting requests of each account, per isolate: each holds memory of its isolate. */
import { LAPSE_MS } from "../../lib/current-request.ts";

const open = new Map<string, Set<OpenRequest>>();

export class OpenRequest {
  readonly #userId: string;
  #countsUntil = Date.now() + LAPSE_MS;

  private constructor(userId: string) {
    this.#userId = userId;
  }

  /** @returns undefined when the account has as many as it may */
  static enter(userId: string, max: number): OpenRequest | undefined {
    if (!hasRoom(userId, max)) return undefined;
    const entered = new OpenRequest(userId);
    const others = open.get(userId) ?? new Set();
    open.set(userId, others.add(entered));
    return entered;
  }

  /** Renews the request, which counts for a few seconds only: one that was cut off cannot leave. */
  renew(): void {
    this.#countsUntil = Date.now() + LAPSE_MS;
  }

  leave(): void {
    const others = open.get(this.#userId);
    others?.delete(this);
    if (others?.size === 0) open.delete(this.#userId);
  }

  get hasLapsed(): boolean {
    return this.#countsUntil < Date.now();
  }
}

export function hasRoom(userId: string, max: number): boolean {
  const others = open.get(userId);
  if (!others || others.size < max) return true;
  for (const other of [...others]) if (other.hasLapsed) other.leave();
  return others.size < max;
}
