/**
 * The audit object: the chain of an account's audit log, or of the deployment's, which has all entries. It only
 * adds entries, and deletes the oldest after AUDIT_DAYS.
 */
import { DurableObject } from "cloudflare:workers";
import { and, gt, gte, lte } from "drizzle-orm";
import { drizzle } from "drizzle-orm/durable-sqlite";
import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import {
  CHAIN_START,
  type ChainPlace,
  following,
  isSigned,
  type SignedEnd,
  type SignedPlace,
  sign,
} from "../../domain/audit/chain.ts";
import type { ChainedEntry, EntryRow } from "../../domain/audit/entry.ts";
import { type Bindings, settings } from "../../env.ts";
import { derivedKey } from "../../lib/hex.ts";
import { logger } from "../../log.ts";
import { bounds, checks, type EntryFilter } from "../../storage/audit/entries.ts";
import { type Keyset, range } from "../../storage/keyset.ts";
import { entryColumns } from "../../storage/schema/audit.ts";
import type { ListedEntries, Verified } from "../stubs/audit.ts";

/** The table has the columns of `audit_entries` in D1, which its filters name. */
const entries = sqliteTable("audit_entries", {
  sequence: integer().primaryKey(),
  id: text().notNull().unique(),
  ...entryColumns,
  hash: text().notNull(),
});

const CREATE = `CREATE TABLE IF NOT EXISTS audit_entries (
  sequence INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, account_id TEXT NOT NULL, action TEXT NOT NULL,
  actor_type TEXT NOT NULL, actor_id TEXT NOT NULL, actor_name TEXT NOT NULL, targets TEXT NOT NULL,
  context TEXT NOT NULL, changes TEXT, occurred_at INTEGER NOT NULL, hash TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS audit_entries_account ON audit_entries (account_id, id);`;

/** The entries that a list with a filter reads, and that a step of a verification and of the alarm does. */
const MOST_READ = 20_000;
const VERIFY_STEP = 5_000;
const DELETE_STEP = 5_000;

const STEP_MS = 100;
const HOUR_MS = 3_600_000;

export class AuditObject extends DurableObject<Bindings> {
  readonly #db = drizzle(this.ctx.storage, { casing: "snake_case" });
  #keys: Promise<Uint8Array[]> | undefined;

  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, env);
    ctx.storage.sql.exec(CREATE);
  }

  /**
   * Adds entries to the chain, in this order. One that is in the chain already is left out.
   * @param chain the account of the chain
   */
  async append(chain: string, rows: EntryRow[]): Promise<void> {
    const keys = await this.#signingKeys();
    const { storage } = this.ctx;
    storage.transactionSync(() => {
      storage.kv.put("chain", chain);
      const head = this.#head();
      // A head that somebody else wrote is not signed by being continued.
      const isOurs = !head || isSigned(keys, chain, "head", head);
      if (!isOurs) logger.error("Audit log not signed", { account_id: chain });
      let place: ChainPlace = head ?? CHAIN_START;
      for (const row of rows) {
        const next = following(place, row);
        const added = this.#db
          .insert(entries)
          .values({ ...row, ...next })
          .onConflictDoNothing({ target: entries.id })
          .returning({ sequence: entries.sequence })
          .all();
        if (added.length > 0) place = next;
      }
      this.#sign("head", chain, place, isOurs ? keys : []);
    });
    const oldest = this.#oldest();
    if (this.#isFull) await storage.setAlarm(Date.now());
    else if (oldest && (await storage.getAlarm()) === null)
      await storage.setAlarm(this.#endOf(oldest.occurred_at));
  }

  /** Lists entries, the newest first. A page that checks entries one by one may end before it is full. */
  list(filter: EntryFilter, keyset: Keyset): ListedEntries {
    const { where, order, limit } = range([entries.id], "desc", keyset);
    const inBounds = and(where, ...bounds(filter));
    const checked = checks(filter);
    const lastRead =
      checked.length === 0
        ? undefined
        : this.#db
            .select({ id: entries.id })
            .from(entries)
            .where(inBounds)
            .orderBy(...order)
            .limit(1)
            .offset(MOST_READ - 1)
            .get();
    const isRead = lastRead && (keyset.back ? lte : gte)(entries.id, lastRead.id);
    const rows = this.#db
      .select()
      .from(entries)
      .where(and(inBounds, isRead, ...checked))
      .orderBy(...order)
      .limit(limit)
      .all();
    return { rows, ...(lastRead && rows.length < limit && { reached: [lastRead.id] }) };
  }

  /**
   * Checks a part of the chain.
   * @param chain the account whose chain it should be
   * @param from where the last step ended. Null: the beginning
   */
  async verify(chain: string, from: ChainPlace | null): Promise<Verified> {
    const keys = await this.#signingKeys();
    const head = this.#head();
    const found = (problem: string | null, rest: Partial<Verified> = {}): Verified => ({
      ...{ checked: 0, next: null, problem },
      head: head ? { sequence: head.sequence, hash: head.hash } : null,
      ...rest,
    });
    if (!from) {
      for (const name of ["head", "base"] as const) {
        const signed = this.ctx.storage.kv.get<SignedPlace>(name);
        if (signed && !isSigned(keys, chain, name, signed))
          return found(
            `The ${name === "head" ? "end" : "beginning"} of the chain is not signed with a key of SECRET_KEY.`,
          );
      }
    }
    let place = from ?? this.#base();
    const rows = this.#rowsAfter(place.sequence, VERIFY_STEP);
    for (const row of rows) {
      const next = following(place, row);
      if (next.sequence !== row.sequence)
        return found(`Entry ${next.sequence} is missing: ${row.id} follows.`);
      if (next.hash !== row.hash)
        return found(`Entry ${row.sequence} (${row.id}), or one before it, was changed.`);
      place = next;
    }
    if (rows.length === VERIFY_STEP) return found(null, { checked: rows.length, next: place });
    // Entries may have been added since this step read the head, which is then in the chain.
    const end = this.#head() ?? this.#base();
    const isWhole = end.sequence === place.sequence && end.hash === place.hash;
    return found(isWhole ? null : "The newest entries are missing.", { checked: rows.length });
  }

  /** Signs the chain with the newest SECRET_KEY, if an older one has signed it. */
  async signAgain(): Promise<void> {
    const keys = await this.#signingKeys();
    for (const name of ["head", "base"] as const) {
      const signed = this.ctx.storage.kv.get<SignedPlace>(name);
      if (signed && isSigned(keys, this.#chain, name, signed))
        this.#sign(name, this.#chain, signed, keys);
    }
  }

  /**
   * Deletes the entries that are older than AUDIT_DAYS, and the oldest while there are more than AUDIT_GB. The chain
   * begins again where the last of them ended.
   */
  override async alarm(): Promise<void> {
    const keys = await this.#signingKeys();
    const { storage } = this.ctx;
    const now = Date.now();
    const isLeft = storage.transactionSync(() => {
      const rows = this.#rowsAfter(this.#base().sequence, DELETE_STEP);
      const { sequence: newest = 0 } = this.#head() ?? {};
      const isFull = this.#isFull;
      const young = rows.findIndex(({ occurred_at, sequence }) =>
        isFull ? sequence === newest : this.#endOf(occurred_at) > now,
      );
      const last = young < 0 ? rows.at(-1) : rows[young - 1];
      if (!last) return false;
      if (isFull)
        logger.warn("Audit log full: oldest entries deleted", { account_id: this.#chain });
      this.#sign("base", this.#chain, last, keys);
      storage.sql.exec("DELETE FROM audit_entries WHERE sequence <= ?", last.sequence);
      return young < 0 && rows.length === DELETE_STEP;
    });
    const oldest = this.#oldest();
    if (oldest)
      await storage.setAlarm(
        isLeft ? now + STEP_MS : Math.max(this.#endOf(oldest.occurred_at), now + HOUR_MS),
      );
  }

  get #isFull(): boolean {
    return this.ctx.storage.sql.databaseSize > settings(this.env).auditBytes;
  }

  get #chain(): string {
    return this.ctx.storage.kv.get<string>("chain") ?? "";
  }

  /** The signed place of the newest entry. */
  #head(): SignedPlace | undefined {
    return this.ctx.storage.kv.get<SignedPlace>("head");
  }

  #base(): ChainPlace {
    return this.ctx.storage.kv.get<SignedPlace>("base") ?? CHAIN_START;
  }

  #sign(name: SignedEnd, chain: string, { sequence, hash }: ChainPlace, [key]: Uint8Array[]): void {
    const place = { sequence, hash };
    const signature = key ? sign(key, chain, name, place) : "";
    this.ctx.storage.kv.put(name, { ...place, signature } satisfies SignedPlace);
  }

  #rowsAfter(sequence: number, limit: number): ChainedEntry[] {
    return this.#db
      .select()
      .from(entries)
      .where(gt(entries.sequence, sequence))
      .orderBy(entries.sequence)
      .limit(limit)
      .all();
  }

  #oldest() {
    return this.#rowsAfter(0, 1)[0];
  }

  #endOf(occurredAt: number): number {
    return occurredAt + settings(this.env).auditMs;
  }

  #signingKeys(): Promise<Uint8Array[]> {
    this.#keys ??= Promise.all(
      settings(this.env).secretKeys.map(
        async (secret) => new Uint8Array(await derivedKey(secret, "audit")),
      ),
    );
    return this.#keys;
  }
}
