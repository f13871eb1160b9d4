/**
 * The account object: what belongs to one account alone and grows without end, which is the index of
 * its predictions, its usage, and what it may write.
 *
 * Prediction and account objects call each other. So neither holds a gate (blockConcurrencyWhile) or a
 * transaction across a call, every call has a bound (objects/stubs/bounded.ts), and each step is correct
 * whatever has happened during a call.
 */
import { DurableObject } from "cloudflare:workers";
import { drizzle } from "drizzle-orm/durable-sqlite";
import type {
  GroupedUsage,
  ReleaseSelection,
  ReleaseUsage,
  UsageDays,
  UsageSelection,
} from "../../domain/accounts/usage.ts";
import type { WriteCost } from "../../domain/accounts/write-bucket.ts";
import type { AccountPosition } from "../../domain/backups/progress.ts";
import { type Levels, levelsOf } from "../../domain/metrics/levels.ts";
import type { BudgetRow, BudgetState, Crossing, Refused } from "../../domain/money/budget.ts";
import type { PastRun } from "../../domain/predictions/estimate.ts";
import {
  LOOK_MS,
  type PredictionRow,
  type PredictionUpdate,
} from "../../domain/predictions/prediction-row.ts";
import type { Claim } from "../../domain/predictions/state.ts";
import { isTerminal } from "../../domain/predictions/status.ts";
import type { DeliveryFilter, DeliveryRow } from "../../domain/webhooks/delivery-row.ts";
import { type Bindings, settings } from "../../env.ts";
import { timeOfId } from "../../lib/hex.ts";
import type { AccountPage } from "../../protocol/backup.ts";
import type { Keyset } from "../../storage/keyset.ts";
import type {
  AccountCopy,
  Admission,
  KeyHolder,
  ListedDelivery,
  ListedPredictions,
  ModelRun,
  PredictionFilter,
  Usage,
  UsageRow,
} from "../stubs/account.ts";
import { metricsObject } from "../stubs/metrics.ts";
import { Admissions } from "./admissions.ts";
import { AccountAlarm, RETRY_MS } from "./alarm.ts";
import { Conversations } from "./conversations.ts";
import { Counters, Writes } from "./counters.ts";
import { Deliveries } from "./deliveries.ts";
import { Facts } from "./facts.ts";
import { Keys } from "./keys.ts";
import { Ledger } from "./ledger.ts";
import { SentMeasures } from "./measures.ts";
import {
  findPrediction,
  listPredictions,
  type RunsOfVersion,
  selectRuns,
  selectStarts,
  selectSucceeded,
  selectUnfinished,
} from "./prediction-lists.ts";
import { copyAccount, PredictionRows, writeRows } from "./prediction-rows.ts";
import { type NewFile, StoredFiles } from "./stored-files.ts";
import { createTables } from "./tables.ts";
import { Removals } from "./upkeep.ts";
import { selectGroups, selectReleases, selectUsagePage, usageByModel } from "./usage.ts";

export class AccountObject extends DurableObject<Bindings> {
  readonly #db = drizzle(this.ctx.storage);
  readonly #facts = new Facts(this.ctx.storage.kv);
  readonly #measures = new SentMeasures(this.ctx.storage, this.ctx.id.toString(), (batch) =>
    metricsObject(this.env).addBatch(batch),
  );
  readonly #counters = new Counters(
    this.ctx.storage,
    settings(this.env).historySeconds,
    async (messages, openFrom) => {
      if (messages.length > 0) await this.env.COUNTS.sendBatch(messages.map((body) => ({ body })));
      await this.#measures.publish(openFrom, {
        deliveries: this.#deliveries.totals,
        levels: this.#levels(),
      });
    },
  );
  readonly #files = new StoredFiles(this.ctx.storage.sql, this.env.DB);
  readonly #ledger: Ledger;
  readonly #rows: PredictionRows;
  readonly #keys = new Keys(this.ctx.storage.sql, this.env, (id, objectId) =>
    this.discard(id, objectId),
  );
  readonly #removals = new Removals(this.ctx.storage.sql);
  readonly #deliveries = new Deliveries(
    this.ctx.storage.sql,
    this.#db,
    () => this.#measures.deliveries,
  );
  readonly #conversations = new Conversations(this.ctx.storage.sql, this.env);
  readonly #writes = new Writes(this.ctx.storage.kv, settings(this.env).writeRates);
  readonly #admissions: Admissions;
  readonly #alarm: AccountAlarm;

  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, env);
    const { sql } = ctx.storage;
    createTables(sql);
    this.#ledger = new Ledger(sql, Date.now());
    this.#rows = new PredictionRows(sql, this.#files, this.#ledger, (endedAt) =>
      this.#counters.usageDay(endedAt),
    );
    this.#admissions = new Admissions({
      db: this.#db,
      keys: this.#keys,
      ledger: this.#ledger,
      isClosed: () => this.#facts.closed,
      put: (update) => this.#put(update),
      arm: (at) => this.#alarm.arm(at),
    });
    this.#alarm = new AccountAlarm({
      ctx,
      env,
      db: this.#db,
      facts: this.#facts,
      rows: this.#rows,
      removals: this.#removals,
      keys: this.#keys,
      conversations: this.#conversations,
      counters: this.#counters,
    });
  }

  // ---- for predictions

  /**
   * Writes the row of a prediction as it is now. An older row changes nothing.
   * @returns the lines of budgets that the prediction has crossed; false if the account takes no row: it is closed,
   * or the row was deleted with its history
   */
  async put(update: PredictionUpdate): Promise<Crossing[] | false> {
    return this.#put(update) && this.#ledger.crossedBy(update);
  }

  #put(update: PredictionUpdate): boolean {
    if (this.#facts.closed && !this.#isEndOfKnown(update)) return false;
    if (this.#facts.userId === "") this.#facts.set("user_id", update.user_id);
    const result = this.#rows.put(update, (id) => id <= this.#facts.historyEnd);
    if (result === "gone") return false;
    if (update.due_at !== null) this.#alarm.arm(update.due_at);
    if (update.kept_seconds !== null)
      this.#alarm.arm(this.#removals.plan(update.id, update.updated_at, update.kept_seconds));
    if (result === "added") this.#publish();
    return true;
  }

  /** A prediction that is under way when the account is deleted still counts: its end is written over its row. */
  #isEndOfKnown({ id, status }: PredictionUpdate): boolean {
    return isTerminal(status) && findPrediction(this.#db, id) !== undefined;
  }

  admit(...request: Parameters<Admissions["admit"]>): Promise<Admission> {
    return this.#admissions.admit(...request);
  }

  /** Returns why a prediction of a version would not be admitted now, if it would not. */
  wouldAdmit(...request: Parameters<Admissions["refusal"]>): Refused | undefined {
    return this.#admissions.refusal(...request);
  }

  /**
   * Raises the reservation of a prediction.
   * @returns what is reserved then; undefined: the prediction has no reservation
   */
  extend(id: string, objectId: string, total: number): number | undefined {
    return this.#ledger.extend(id, objectId, total, Date.now());
  }

  // ---- budgets

  budgets(): BudgetState[] {
    return this.#ledger.list(Date.now());
  }

  setBudget(row: BudgetRow): void {
    this.#ledger.set(row, Date.now());
    this.#publish();
  }

  removeBudgets(ids: string[]): void {
    for (const id of ids) this.#ledger.remove(id);
    this.#publish();
  }

  /** Returns the holder of a key; undefined when nobody has it. */
  keyHolder(claim: Claim): Promise<KeyHolder | undefined> {
    return this.#keys.holder(claim, "");
  }

  /** Deletes the row of a prediction that was not created after all. */
  discard(id: string, objectId: string): void {
    const modelId = this.#rows.discard(id, objectId);
    if (modelId !== undefined) this.#counters.fallen(modelId);
  }

  /** Records how webhooks fare. Nothing is listed for a closed account, or for a row that was deleted. */
  recordDeliveries(rows: DeliveryRow[]): void {
    if (this.#facts.closed) return;
    const { historyEnd } = this.#facts;
    const hasEnded = this.#deliveries.record(
      rows.filter(({ prediction_id }) => prediction_id > historyEnd),
    );
    if (!hasEnded) return;
    this.#counters.owe();
    this.#alarm.arm(Date.now() + LOOK_MS);
  }

  // ---- for the API

  find(id: string): PredictionRow | undefined {
    return findPrediction(this.#db, id);
  }

  list(filter: PredictionFilter, keyset: Keyset): ListedPredictions {
    return listPredictions(this.#db, filter, keyset);
  }

  /** Webhook deliveries of all predictions, newest first. */
  listDeliveries(filter: DeliveryFilter, keyset: Keyset): ListedDelivery[] {
    return this.#deliveries.list(filter, keyset);
  }

  /** Returns some predictions that have not ended. @param maker only those of this maker; undefined: all */
  unfinished(limit: number, maker?: string): Pick<PredictionRow, "id" | "object_id">[] {
    return selectUnfinished(this.#db, limit, maker).all();
  }

  /** Returns the starts and probes of a deployment's containers that have not ended. */
  unfinishedStarts(deploymentId: string): Pick<PredictionRow, "object_id" | "release">[] {
    return selectStarts(this.#db, deploymentId).all();
  }

  /** The account's last runs of a model, newest first. */
  runsOf(modelId: string, limit: number): ModelRun[] {
    return selectRuns(this.#db, modelId, limit).all();
  }

  /** The account's last runs of a version that have succeeded, newest first. */
  succeededRuns(version: RunsOfVersion, limit: number): PastRun[] {
    return selectSucceeded(this.#db, version, limit).all();
  }

  /**
   * Usage by day and model.
   * @param named how many of the most used models are named; the others are summed
   */
  usage(days: UsageDays, named: number): Usage {
    const { trimmedTo } = this.#facts;
    const trimmed_to = trimmedTo === "" ? null : timeOfId(trimmedTo);
    return { ...usageByModel(this.#db, days, named), trimmed_to };
  }

  usageBy(selection: UsageSelection): GroupedUsage[] {
    return selectGroups(this.ctx.storage.sql, selection);
  }

  usageOfReleases(selection: ReleaseSelection): ReleaseUsage[] {
    return selectReleases(this.ctx.storage.sql, selection);
  }

  /** All rows of usage, by day first. */
  usagePage(keyset: Keyset): UsageRow[] {
    return selectUsagePage(this.#db, keyset).all();
  }

  // ---- the bucket of writes

  /**
   * Charges the most that a request may write.
   * @returns the ms to wait, if that is too much; 0: it was taken
   */
  chargeWrites(userId: string, cost: WriteCost): number {
    if (this.#facts.userId === "") this.#facts.set("user_id", userId);
    return this.#writes.take(cost, Date.now());
  }

  /** Corrects a charge by the excess that was written; negative: the part that was not written. */
  settleWrites(difference: WriteCost): void {
    this.#writes.settle(difference, Date.now());
  }

  // ---- the bytes of files

  /** Counts a file like `StoredFiles.add`. */
  addFile(userId: string, file: NewFile): Promise<number | undefined> {
    return this.#files.add(userId, file);
  }

  /** Takes back a file whose storing has failed. */
  removeFile(key: string): void {
    this.#files.remove(key);
  }

  /** Declares an upload that D1 is about to have, like `StoredFiles.declare`. */
  declareUpload(size: number): number {
    return this.#files.declare(size);
  }

  /** The bytes of stored files, without uploads. */
  fileBytes(): number {
    return this.#files.bytes;
  }

  // ---- conversations

  /** @returns false if the account takes no conversation: it is closed, or has as many as it may */
  addConversation(objectId: string): boolean {
    return !this.#facts.closed && this.#conversations.add(objectId);
  }

  removeConversation(objectId: string): void {
    this.#conversations.remove(objectId);
  }

  // ---- for backups

  /** Returns the next rows for a backup, and what the object remembers. */
  copy(from: AccountPosition | null, maxChars: number): AccountCopy {
    return copyAccount(this.ctx.storage, this.#facts.userId, from, maxChars);
  }

  /**
   * Takes over the rows of another object of the account. A second time it changes nothing.
   * @param at when the backup was made, unix ms
   */
  restore({ user_id, facts, ...rows }: AccountPage, at: number): void {
    const { open_from, ...known } = facts;
    for (const name of ["history_end", "trimmed_to"] as const)
      if (known[name] !== undefined) this.#facts.set(name, known[name]);
    this.#facts.set("user_id", user_id);
    if (open_from !== undefined) this.#counters.openFrom(open_from);
    for (const row of writeRows(this.ctx.storage.sql, this.env, rows, at)) this.#rows.addUsage(row);
    this.#ledger.load(Date.now());
    this.#alarm.arm(Date.now() + RETRY_MS);
  }

  // ---- the end of the account

  /** Takes no more predictions, and removes the present ones, whatever interrupts it. */
  close(userId: string): Promise<void> {
    return this.#alarm.close(userId);
  }

  /** Whether nothing is left of a closed account but its tombstone. */
  isEmpty(): boolean {
    return this.#alarm.isEmpty;
  }

  override alarm(): Promise<void> {
    return this.#alarm.run();
  }

  /** Returns what operators watch of the account; null for one that is closed. */
  #levels(): Levels | null {
    if (this.#facts.closed || this.#facts.userId === "") return null;
    return levelsOf(this.#facts.userId, this.#ledger.list(Date.now()), {
      bytes: this.ctx.storage.sql.databaseSize,
      max_bytes: settings(this.env).historyBytes,
    });
  }

  #publish(): void {
    const next = this.#counters.risen(this.#facts.userId, Date.now());
    if ("by" in next) this.#alarm.arm(next.by);
    else this.ctx.waitUntil(next.publishing.then(() => this.#publishRest()));
  }

  /** Sets the alarm for figures that could not be published, or were too many for one time. */
  #publishRest(): void {
    if (!this.#counters.allPublished) this.#alarm.arm(Date.now() + RETRY_MS);
  }
}
