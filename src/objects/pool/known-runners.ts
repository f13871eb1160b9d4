/**
 * The runners that poll a pool, as their own objects know them: looked up once per session, and
 * again after an operator has changed something.
 */
import { LRUCache } from "lru-cache";
import { z } from "zod";
import type { Bindings } from "../../env.ts";
import type { PoolClaim } from "../stubs/pool.ts";
import { runnerAt } from "../stubs/runner.ts";

export const knownRunner = z.object({
  session: z.string(),
  name: z.string(),
  hardware: z.array(z.string()),
  slots: z.number(),
  draining: z.boolean(),
});
export type KnownRunner = z.infer<typeof knownRunner>;

export class KnownRunners {
  readonly #env: Bindings;
  readonly #known = new LRUCache<string, KnownRunner>({ max: 10_000 });

  constructor(env: Bindings) {
    this.#env = env;
  }

  /** @returns `superseded` by a later session, or `unknown`: the runner has no such session here */
  async find({
    runner_id,
    session,
    pool,
  }: Pick<PoolClaim, "runner_id" | "session" | "pool">): Promise<
    KnownRunner | "superseded" | "unknown"
  > {
    const known = this.#known.get(runner_id) ?? (await this.#lookUp(runner_id, pool));
    // The later of two sessions wins: their ids rise with time.
    if (known && known.session < session) {
      this.#known.delete(runner_id);
      const renewed = await this.#lookUp(runner_id, pool);
      return renewed?.session === session ? renewed : "unknown";
    }
    if (!known) return "unknown";
    return known.session === session ? known : "superseded";
  }

  forget(runnerId: string): void {
    this.#known.delete(runnerId);
  }

  async #lookUp(runnerId: string, pool: string): Promise<KnownRunner | undefined> {
    const presence = await runnerAt(this.#env, runnerId).getPresence();
    if (presence?.pool !== pool) return undefined;
    const { session, name, hardware, slots, draining } = presence;
    const known = { session, name, hardware, slots, draining };
    this.#known.set(runnerId, known);
    return known;
  }
}
