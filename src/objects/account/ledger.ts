/**
 * The ledger of an account: its budgets, and what is reserved for predictions that have not ended. A
 * prediction to which a hard budget applies is admitted with a reservation, which may be extended and becomes
 * its cost at the end. No clock frees a reservation: it ends with the prediction's final row, or with the row
 * of a prediction that never began.
 */
import {
  type BudgetRow,
  type BudgetState,
  type Crossing,
  clientSubject,
  leftOf,
  type Refused,
  type Spender,
  subjectsOf,
  unitsOf,
  windowEnd,
  windowStart,
} from "../../domain/money/budget.ts";
import type { ClientLimits } from "../../domain/money/reservation.ts";

const CLIENTS = clientSubject("");
/** Client tokens are valid for an hour at most: nobody asks for their budgets after that. */
const CLIENT_MS = 2 * 3_600_000;

/** A prediction that is to be admitted. */
export interface ReservationRequest extends Spender {
  id: string;
  object_id: string;
  amount: number;
  /** The amount that its budgets must have left at least. Then all that they have left is reserved. */
  least: number;
  /** How many predictions of its token may run or wait at a time; null: any number. */
  max_running: number | null;
}

interface Reservation extends Spender {
  prediction_id: string;
  object_id: string;
  amount: number;
  least: number;
  /** When it was made: the run counts in the window of that time. */
  made_at: number;
}

/** A prediction that has ended. */
export interface EndedRun extends Spender {
  id: string;
  created_at: number;
  cost: number;
}

type StoredBudget = Omit<BudgetState, "reserved">;

const BUDGET_COLUMNS = [
  "id",
  "subject",
  "unit",
  "most",
  "window",
  "kind",
  "level",
  "alert_at",
  "created_at",
  "updated_at",
  "window_start",
  "spent",
  "alerted_by",
  "exhausted_by",
] as const satisfies (keyof StoredBudget)[];

const SAVE_BUDGET = `INSERT OR REPLACE INTO budgets (${BUDGET_COLUMNS.join(", ")})
  VALUES (${BUDGET_COLUMNS.map(() => "?").join(", ")})`;

const SAVE_RESERVATION = `INSERT OR REPLACE INTO reservations
  (prediction_id, object_id, token_id, maker, client_id, amount, least, made_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;

export class Ledger {
  readonly #sql: SqlStorage;
  readonly #budgets = new Map<string, BudgetState>();
  /** Client tokens may add thousands, of which a prediction looks at its own. */
  readonly #bySubject = new Map<string, BudgetState[]>();
  /** The reservations of predictions that have not ended, by the id of the prediction. */
  readonly #open = new Map<string, Reservation>();

  constructor(sql: SqlStorage, now: number) {
    this.#sql = sql;
    this.load(now);
  }

  /** Reads what is stored. */
  load(now: number): void {
    for (const row of this.#stored<StoredBudget>("budgets")) this.#keep({ ...row, reserved: 0 });
    for (const row of this.#stored<Reservation>("reservations"))
      this.#open.set(row.prediction_id, row);
    for (const budget of this.#budgets.values()) {
      this.#recount(budget);
      this.#roll(budget, now);
    }
  }

  // ---- predictions

  /**
   * Reserves an amount, or what its budgets have left if that is enough. A hard budget that has less refuses it,
   * and so does the limit of running predictions. A second time for the same object changes nothing. The
   * reservation of another object of the prediction is replaced.
   * @returns the reserved amount; null: nothing limits the prediction
   */
  reserve(request: ReservationRequest, now: number): { reserved: number | null } | Refused {
    const { id, object_id, token_id, maker, client_id, amount, least } = request;
    const known = this.#open.get(id);
    if (known?.object_id === object_id)
      return { reserved: this.#limiting(known).length > 0 ? known.amount : null };
    if (known) this.#remove(known);
    const refused = this.refusal(request, now);
    if (refused) {
      // The call of the first object may come late, when the second has begun.
      if (known) this.#add(known);
      return refused;
    }
    const limiting = this.#limiting(request);
    if (limiting.length === 0 && request.max_running === null) return { reserved: null };
    const lefts = limiting.filter(({ unit }) => unit === "amount").map(leftOf);
    const reserved = limiting.length > 0 ? Math.min(amount, ...lefts) : null;
    const one = { prediction_id: id, object_id, token_id, maker, client_id, least };
    this.#save({ ...one, amount: reserved ?? 0, made_at: now });
    return { reserved };
  }

  /**
   * Returns why a prediction would not be admitted now, if it would not.
   * @param client whose budgets count although they are made only with its first prediction
   */
  refusal(
    request: Omit<ReservationRequest, "id" | "object_id">,
    now: number,
    client?: ClientLimits,
  ): Refused | undefined {
    const { token_id, max_running, least } = request;
    if (max_running !== null) {
      const open = [...this.#open.values()].filter((one) => one.token_id === token_id);
      if (open.length >= max_running) return { running: max_running };
    }
    const missing = client ? this.#missingOf(client, now) : [];
    for (const budget of [...missing, ...this.#limiting(request)]) {
      this.#roll(budget, now);
      const needed = unitsOf(budget, least);
      if (needed > leftOf(budget))
        return { budget, needed, resets_at: windowEnd(budget.window, budget.window_start) };
    }
    return undefined;
  }

  /**
   * Raises the reservation of a prediction to `total`, or to what its budgets have left. If the window of its
   * create has ended, all of it counts in the present one: nobody counts what is spent in the other.
   * @returns the amount that is reserved then; undefined: the prediction has no reservation
   */
  extend(id: string, objectId: string, total: number, now: number): number | undefined {
    const known = this.#open.get(id);
    if (known?.object_id !== objectId) return undefined;
    const budgets = this.#limiting(known).filter(({ unit }) => unit === "amount");
    for (const budget of budgets) this.#roll(budget, now);
    const { made_at } = known;
    const isOver = budgets.some((one) => made_at >= one.created_at && made_at < one.window_start);
    const next = isOver ? { ...known, made_at: now } : known;
    const limits = budgets
      .filter((one) => reserves(one, next))
      .map((one) => leftOf(one) + (reserves(one, known) ? known.amount : 0));
    const amount = Math.min(total, ...limits);
    if (amount <= known.amount) return known.amount;
    this.#remove(known);
    this.#save({ ...next, amount });
    return amount;
  }

  /** Frees the reservation of a prediction that was not created after all. */
  release(id: string, objectId: string): void {
    const known = this.#open.get(id);
    if (known?.object_id === objectId) this.#forget(known);
  }

  /** Replaces the reservation of a prediction that has ended by its cost. */
  settle(run: EndedRun, now: number): void {
    const known = this.#open.get(run.id);
    if (known) this.#forget(known);
    const next = Math.max(known?.least ?? run.cost, 1);
    this.#spend({ ...run, created_at: known?.made_at ?? run.created_at }, 1, now, next);
  }

  /** Returns the lines that the end of a prediction has crossed, also when it is asked again. */
  crossedBy({ id, ...spender }: Spender & { id: string }): Crossing[] {
    return this.#counting(spender)
      .filter(isShown)
      .flatMap((budget) => [
        ...(budget.alerted_by === id ? [{ event: "budget.alert", budget } as const] : []),
        ...(budget.exhausted_by === id ? [{ event: "budget.exhausted", budget } as const] : []),
      ]);
  }

  /** Takes back the cost of an end that was never stored. */
  takeBack(run: EndedRun, now: number): void {
    this.#spend(run, -1, now);
  }

  /** An exhausted budget has sent its alert before, also if less than its share is spent. */
  #noteLines(budget: BudgetState, id: string, next: number): void {
    const needed = budget.kind === "hard" ? unitsOf(budget, next) : 1;
    const isExhausted = budget.most - budget.spent < needed;
    if (isExhausted || budget.spent >= budget.alert_at * budget.most) budget.alerted_by ||= id;
    if (isExhausted) budget.exhausted_by ||= id;
  }

  /** @param next the least that another such run would reserve: if less is left, the budget is exhausted */
  #spend(run: EndedRun, sign: 1 | -1, now: number, next = 0): void {
    if (this.#budgets.size === 0) return;
    for (const budget of this.#counting(run)) {
      this.#roll(budget, now);
      // A run from before the budget counts when it ends.
      if (Math.max(run.created_at, budget.created_at) < budget.window_start) continue;
      budget.spent = Math.max(0, budget.spent + sign * unitsOf(budget, run.cost));
      if (sign > 0) this.#noteLines(budget, run.id, next);
      this.#store(budget);
    }
  }

  // ---- budgets

  /** The budgets of the account, its members and its tokens as they are now, the oldest first. */
  list(now: number): BudgetState[] {
    const all = [...this.#budgets.values()].filter(isShown);
    for (const budget of all) this.#roll(budget, now);
    return all.toSorted((a, b) => a.created_at - b.created_at).map((one) => ({ ...one }));
  }

  /** Adds a budget, or changes one: what it has counted in its window stays. */
  set(row: BudgetRow, now: number): void {
    const known = this.#budgets.get(row.id);
    const { window_start, spent } = known ?? {
      window_start: windowStart(row.window, now),
      spent: 0,
    };
    // A raised limit can be crossed again.
    const told = { alerted_by: "", exhausted_by: "" };
    const budget = { ...row, window_start, spent, ...told, reserved: 0 };
    this.#keep(budget);
    this.#recount(budget);
    this.#store(budget);
  }

  /** Adds the budgets of a client token, unless it has used them before. */
  addClient(client: ClientLimits, now: number): void {
    const missing = this.#missingOf(client, now);
    if (missing.length > 0) this.#removeOldClients(now);
    for (const budget of missing) this.set(budget, now);
  }

  /** The budgets of a client token that it has not used before. */
  #missingOf({ id, max_predictions, budget }: ClientLimits, now: number): BudgetState[] {
    const subject = clientSubject(id);
    const limits = [
      ["runs", max_predictions],
      ["amount", budget],
    ] as const;
    const fixed = { window: "total", kind: "hard", level: "admin", alert_at: 1 } as const;
    const times = { created_at: now, updated_at: now, window_start: 0 };
    const unused = { ...times, spent: 0, reserved: 0, alerted_by: "", exhausted_by: "" };
    return limits.flatMap(([unit, most]) => {
      const row = `${subject}:${unit}`;
      if (most === null || this.#budgets.has(row)) return [];
      return [{ id: row, subject, unit, most, ...fixed, ...unused }];
    });
  }

  #removeOldClients(now: number): void {
    for (const { id, subject, created_at } of this.#budgets.values())
      if (subject.startsWith(CLIENTS) && created_at < now - CLIENT_MS) this.remove(id);
  }

  remove(id: string): void {
    const subject = this.#budgets.get(id)?.subject ?? "";
    this.#budgets.delete(id);
    const left = this.#bySubject.get(subject)?.filter((one) => one.id !== id) ?? [];
    if (left.length > 0) this.#bySubject.set(subject, left);
    else this.#bySubject.delete(subject);
    this.#sql.exec("DELETE FROM budgets WHERE id = ?", id);
  }

  #keep(budget: BudgetState): void {
    const { id, subject } = budget;
    const others = this.#bySubject.get(subject)?.filter((one) => one.id !== id) ?? [];
    this.#budgets.set(id, budget);
    this.#bySubject.set(subject, [...others, budget]);
  }

  // ---- what counts

  /** The budgets that count a run, the narrowest first. */
  #counting(spender: Spender): BudgetState[] {
    return subjectsOf(spender).flatMap((subject) => this.#bySubject.get(subject) ?? []);
  }

  #limiting(spender: Spender): BudgetState[] {
    return this.#counting(spender).filter(({ kind }) => kind === "hard");
  }

  /** Begins the present window, in which nothing counts yet. It is stored with the next cost. */
  #roll(budget: BudgetState, now: number): void {
    const start = windowStart(budget.window, now);
    if (start <= budget.window_start) return;
    budget.window_start = start;
    budget.spent = 0;
    budget.alerted_by = "";
    budget.exhausted_by = "";
    this.#recount(budget);
  }

  #recount(budget: BudgetState): void {
    const open = [...this.#open.values()].filter(
      (one) => this.#limiting(one).includes(budget) && reserves(budget, one),
    );
    budget.reserved = open.reduce((sum, { amount }) => sum + unitsOf(budget, amount), 0);
  }

  #save(one: Reservation): void {
    const { prediction_id, object_id, token_id, maker, client_id, amount, least, made_at } = one;
    const spender = [token_id, maker, client_id];
    this.#sql.exec(SAVE_RESERVATION, prediction_id, object_id, ...spender, amount, least, made_at);
    this.#add(one);
  }

  #forget(one: Reservation): void {
    this.#sql.exec("DELETE FROM reservations WHERE prediction_id = ?", one.prediction_id);
    this.#remove(one);
  }

  #add(one: Reservation): void {
    this.#open.set(one.prediction_id, one);
    this.#count(one, 1);
  }

  #remove(one: Reservation): void {
    this.#open.delete(one.prediction_id);
    this.#count(one, -1);
  }

  #count(one: Reservation, sign: 1 | -1): void {
    for (const budget of this.#limiting(one))
      if (reserves(budget, one)) budget.reserved += sign * unitsOf(budget, one.amount);
  }

  #store(budget: BudgetState): void {
    this.#sql.exec(SAVE_BUDGET, ...BUDGET_COLUMNS.map((name) => budget[name]));
  }

  #stored<Row>(table: "budgets" | "reservations"): (Row & Record<string, SqlStorageValue>)[] {
    return this.#sql
      .exec<Row & Record<string, SqlStorageValue>>(`SELECT * FROM ${table}`)
      .toArray();
  }
}

/** Whether a reservation counts in the budget's window: it is neither from before the budget nor the window. */
const reserves = (budget: BudgetState, { made_at }: Reservation) =>
  made_at >= budget.created_at && made_at >= budget.window_start;

/** Whether people have set a budget, and know of it: not the limits of a client token. */
const isShown = ({ subject }: BudgetRow) => !subject.startsWith(CLIENTS);
