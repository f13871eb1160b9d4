/**
 * Admits predictions: claims their Idempotency-Key, reserves what they may cost and writes their first row, in one
 * step. What is reserved becomes the cost with the final row (prediction-rows.ts).
 */
import type { Refused, Spender } from "../../domain/money/budget.ts";
import { type Reservation, reservedAmounts } from "../../domain/money/reservation.ts";
import type { PredictionUpdate } from "../../domain/predictions/prediction-row.ts";
import type { Claim } from "../../domain/predictions/state.ts";
import { isTerminal } from "../../domain/predictions/status.ts";
import type { Admission, KeyHolder } from "../stubs/account.ts";
import { KEY_MS, type Keys } from "./keys.ts";
import type { Ledger } from "./ledger.ts";
import { type AccountDatabase, costsOf, findPrediction } from "./prediction-lists.ts";

/** Keys are deleted this late, so that an account does not wake up for each. */
export const HOUR_MS = 3_600_000;

interface Parts {
  db: AccountDatabase;
  keys: Keys;
  ledger: Ledger;
  isClosed: () => boolean;
  /** Writes a row. @returns whether the account takes it */
  put: (update: PredictionUpdate) => boolean;
  arm: (at: number) => void;
}

export class Admissions {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** @param reservation null: no budget applies, as far as the caller knows */
  async admit(
    claim: Claim | null,
    reservation: Reservation | null,
    update: PredictionUpdate,
  ): Promise<Admission> {
    const { keys, ledger, isClosed, put, arm } = this.#parts;
    const { id, object_id } = update;
    for (;;) {
      const holder = claim && (await keys.holder(claim, object_id));
      if (holder) return { taken: holder };
      if (isClosed() || this.#isLate(update)) return "unavailable";
      const now = Date.now();
      const reserved = this.#reserve(reservation, update, now);
      if ("refused" in reserved) return reserved;
      if (claim && !keys.claim(claim, update, now)) {
        ledger.release(id, object_id);
        continue;
      }
      if (claim) arm(now + KEY_MS + HOUR_MS);
      if (put(update)) return reserved;
      ledger.release(id, object_id);
      return "unavailable";
    }
  }

  /** Returns why a prediction of a version would not be admitted now, if it would not. */
  refusal(
    { client, ...reservation }: Reservation,
    spender: Spender,
    modelId: string,
    versionNumber: number,
  ): Refused | undefined {
    const { db, ledger } = this.#parts;
    const amounts = reservedAmounts(reservation, costsOf(db, modelId, versionNumber));
    const { max_running } = reservation;
    return ledger.refusal({ ...spender, ...amounts, max_running }, Date.now(), client);
  }

  /** Whether the prediction has ended, or has begun in another object since the call was made. */
  #isLate({ id, object_id, revision }: PredictionUpdate): boolean {
    const known = findPrediction(this.#parts.db, id);
    if (!known) return false;
    return isTerminal(known.status) || (known.object_id !== object_id && known.revision > revision);
  }

  #reserve(
    reservation: Reservation | null,
    update: PredictionUpdate,
    now: number,
  ): Exclude<Admission, string | { taken: KeyHolder }> {
    if (!reservation) return { reserved: null };
    const { db, ledger } = this.#parts;
    const { id, object_id, token_id, maker, client_id, model_id, version_number } = update;
    if (reservation.client) ledger.addClient(reservation.client, now);
    const { max_running } = reservation;
    const amounts = reservedAmounts(reservation, costsOf(db, model_id, version_number));
    const spender = { token_id, maker, client_id };
    const result = ledger.reserve({ id, object_id, ...spender, ...amounts, max_running }, now);
    return "reserved" in result ? result : { refused: result };
  }
}
