/**
 * The runners that poll a pool, as their own objects know them: looked up once per session, and
 * again after an operator has changed something.
 */
import { LRUCache } from "lru-cache";
import type { Bindings } from "../../env.ts";
import { runnerAt } from "../runner/stub.ts";
import type { PoolClaim } from "./rpc-types.ts";

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

  /** @returns `superseded` by a later session, or `unknown`: it has no such session here */
  async find({
    runner_id,
    session,
    hardware,
  }: Pick<PoolClaim, "runner_id" | "session" | "hardware">): Promise<
    KnownRunner | "superseded" | "unknown"
  > {
    const known = this.#known.get(runner_id) ?? (await this.#lookUp(runner_id, hardware));
    // The later of two sessions wins: their ids rise with time.
    if (known && known.session < session) {
      this.#known.delete(runner_id);
      const renewed = await this.#lookUp(runner_id, hardware);
      return renewed?.session === session ? renewed : "unknown";
    }
    if (!known) return "unknown";
    return known.session === session ? known : "superseded";
  }

  forget(runnerId: string): void {
    this.#known.delete(runnerId);
  }

  async #lookUp(runnerId: string, hardware: string): Promise<KnownRunner | undefined> {
    const presence = await runnerAt(this.#env, runnerId).getPresence();
    if (presence?.hardware !== hardware) return undefined;
    const { session, slots, draining } = presence;
    this.#known.set(runnerId, { session, slots, draining });
    return { session, slots, draining };
  }
}
