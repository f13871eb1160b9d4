/**
 * What a pool knows of the runners that ask it for work: from their own objects, once for each
 * session, and again when an operator has changed something.
 */
import { LRUCache } from "lru-cache";
import type { Bindings } from "../../env.ts";
import { runnerAt } from "../runner/stub.ts";
import type { PoolClaim } from "./claim.ts";

export interface KnownRunner {
  session: string;
  slots: number;
  draining: boolean;
}

export class KnownRunners {
  readonly #env: Bindings;
  readonly #known = new LRUCache<string, KnownRunner>({ max: 10_000 });

  constructor(env: Bindings) {
    this.#env = env;
  }

  /** @returns why not: a later session of it has taken over, or it has no such session here */
  async of({
    runner_id,
    session,
    hardware,
  }: Pick<PoolClaim, "runner_id" | "session" | "hardware">): Promise<
    KnownRunner | "superseded" | "unknown"
  > {
    const known = this.#known.get(runner_id) ?? (await this.#look(runner_id, hardware));
    // Of two sessions of one runner the later one holds: their ids rise with time.
    if (known && known.session < session) {
      this.#known.delete(runner_id);
      const renewed = await this.#look(runner_id, hardware);
      return renewed?.session === session ? renewed : "unknown";
    }
    if (!known) return "unknown";
    return known.session === session ? known : "superseded";
  }

  forget(runnerId: string): void {
    this.#known.delete(runnerId);
  }

  async #look(runnerId: string, hardware: string): Promise<KnownRunner | undefined> {
    const presence = await runnerAt(this.#env, runnerId).look();
    if (presence?.hardware !== hardware) return undefined;
    const { session, slots, draining } = presence;
    this.#known.set(runnerId, { session, slots, draining });
    return { session, slots, draining };
  }
}
