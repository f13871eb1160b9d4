/** The alarm of an account: its upkeep, step by step, and the end of a closed account. */
import { type Bindings, settings } from "../../env.ts";
import { logger } from "../../log.ts";
import { HOUR_MS } from "./admissions.ts";
import type { Conversations } from "./conversations.ts";
import type { Counters } from "./counters.ts";
import type { Facts } from "./facts.ts";
import type { Keys } from "./keys.ts";
import { type AccountDatabase, selectOldest } from "./prediction-lists.ts";
import type { PredictionRows } from "./prediction-rows.ts";
import { emptyTables } from "./tables.ts";
import { type Removals, Upkeep } from "./upkeep.ts";

/** When the alarm goes off after a step that has left work to be done. */
const STEP_MS = 100;
/** When the alarm goes off after a step that has failed. */
export const RETRY_MS = 60_000;
const NEVER = Number.POSITIVE_INFINITY;

interface Parts {
  ctx: DurableObjectState;
  env: Bindings;
  db: AccountDatabase;
  facts: Facts;
  rows: PredictionRows;
  removals: Removals;
  keys: Keys;
  conversations: Conversations;
  counters: Counters;
}

export class AccountAlarm {
  readonly #parts: Parts;
  readonly #upkeep: Upkeep;
  /** When the alarm goes off, as far as this instance knows. */
  #at = NEVER;

  constructor(parts: Parts) {
    const { ctx, env, db, rows, removals } = parts;
    this.#parts = parts;
    this.#upkeep = new Upkeep(env, db, rows, removals, settings(env).historySeconds);
    ctx.blockConcurrencyWhile(async () => {
      this.#at = (await ctx.storage.getAlarm()) ?? NEVER;
    });
  }

  /** Moves the alarm only to an earlier time: an early alarm sets itself again. */
  arm(at: number): void {
    const { ctx } = this.#parts;
    const soon = Math.max(at, Date.now() + STEP_MS);
    if (soon >= this.#at) return;
    this.#at = soon;
    ctx.waitUntil(ctx.storage.setAlarm(soon));
  }

  async run(): Promise<void> {
    const { facts } = this.#parts;
    this.#at = NEVER;
    try {
      if (facts.closed) await this.#removeAll();
      else await this.#keepUp(Date.now());
    } catch (error) {
      // The platform drops an alarm that throws six times; this one is set again until it succeeds.
      logger.error("Account not kept up", { user_id: facts.userId, error });
      this.arm(Date.now() + RETRY_MS);
    }
  }

  /** Takes no more predictions, and removes the present ones, whatever interrupts it. */
  async close(userId: string): Promise<void> {
    const { facts, counters } = this.#parts;
    facts.set("user_id", userId);
    facts.set("closed", true);
    this.arm(Date.now() + RETRY_MS);
    // Counts are published first: predictions under way do not count any more once they are removed.
    await counters.publish(userId, Date.now());
    await this.#removeAll();
  }

  /** Whether nothing is left of a closed account but its tombstone. */
  get isEmpty(): boolean {
    const { db, facts, conversations, counters } = this.#parts;
    const isLeft = selectOldest(db, 1).get() !== undefined || !conversations.isEmpty;
    return facts.closed && !isLeft && counters.allPublished;
  }

  async #keepUp(now: number): Promise<void> {
    const { env, ctx, facts, keys, counters } = this.#parts;
    const expires = keys.expire(now);
    if (expires !== undefined) this.arm(expires + HOUR_MS);
    await this.#upkeep.look(facts.userId, now);
    await this.#upkeep.removeDue(now);
    const last = this.#upkeep.deleteHistory(now);
    if (last !== undefined) facts.set("history_end", last);
    if (ctx.storage.sql.databaseSize > settings(env).historyBytes) await this.#trim();
    await counters.catchUp(facts.userId, now);
    if (!counters.allPublished) this.arm(now + RETRY_MS);
    const next = this.#upkeep.nextAt;
    if (next !== undefined) this.arm(next);
  }

  async #trim(): Promise<void> {
    const { facts } = this.#parts;
    const last = await this.#upkeep.trim();
    if (last === undefined) return;
    facts.set("history_end", last);
    facts.set("trimmed_to", last);
    this.arm(Date.now() + STEP_MS);
  }

  async #removeAll(): Promise<void> {
    const { ctx, facts, conversations, counters } = this.#parts;
    const now = Date.now();
    await counters.catchUp(facts.userId, now);
    const { asked, left } = await this.#upkeep.removeAll(now);
    await conversations.discardSome();
    if (left) return this.arm(now + (asked > 0 ? STEP_MS : RETRY_MS));
    if (!conversations.isEmpty) return this.arm(now + STEP_MS);
    if (!counters.allPublished) return this.arm(now + RETRY_MS);
    emptyTables(ctx.storage.sql);
  }
}
