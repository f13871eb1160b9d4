/**
 * The Idempotency-Keys of an account, unique for each maker, each for 24 h. A key belongs to the prediction object that has claimed
 * it. No clock frees a key earlier: a key whose object is not known to have begun is freed only when that
 * object has promised that it never will.
 */
import { isOfBegun, type PredictionUpdate } from "../../domain/predictions/prediction-row.ts";
import type { Claim } from "../../domain/predictions/state.ts";
import { isTerminal } from "../../domain/predictions/status.ts";
import type { Bindings } from "../../env.ts";
import type { TaskStatus } from "../../protocol/prediction.ts";
import type { KeyHolder } from "../stubs/account.ts";
import { predictionWithId } from "../stubs/prediction.ts";
import { NEVER_BEGUN } from "./prediction-rows.ts";

export const KEY_MS = 86_400_000;
const MAX_ROWS = 1_000;

interface KeyRow {
  prediction_id: string;
  object_id: string;
  hash: string;
  /** Revision of the prediction's row; null when it has no row. */
  revision: number | null;
  status: TaskStatus | null;
  error: string | null;
}

const FIND = `SELECT prediction_id, k.object_id, hash, revision, status, error FROM keys AS k
  LEFT JOIN predictions AS p ON p.id = prediction_id AND p.object_id = k.object_id
  WHERE k.maker = ? AND key = ? AND claimed_at > ?`;

const CLAIM = `INSERT INTO keys (maker, key, prediction_id, object_id, hash, claimed_at)
  VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (maker, key) DO UPDATE SET prediction_id = excluded.prediction_id,
    object_id = excluded.object_id, hash = excluded.hash, claimed_at = excluded.claimed_at`;

export class Keys {
  readonly #sql: SqlStorage;
  readonly #env: Bindings;
  /** Deletes the row of a prediction that never begins. */
  readonly #discard: (id: string, objectId: string) => void;

  constructor(sql: SqlStorage, env: Bindings, discard: (id: string, objectId: string) => void) {
    this.#sql = sql;
    this.#env = env;
    this.#discard = discard;
  }

  /**
   * Returns the holder of the key, if it is another object. Asks an object that is not known to have begun,
   * and frees the key if it has not.
   */
  async holder(claim: Claim, objectId: string): Promise<KeyHolder | undefined> {
    for (;;) {
      const held = this.#heldByOther(claim, objectId);
      if (!held) return undefined;
      const { prediction_id: id, object_id } = held;
      const hasBegun = isKnownToHaveBegun(held) || (await this.#hasBegun(held));
      if (hasBegun) return held.hash === claim.hash ? { id, object_id } : "conflict";
      // The object's promise holds whatever has happened meanwhile.
      const { maker, key } = claim;
      const one = "DELETE FROM keys WHERE maker = ? AND key = ? AND object_id = ?";
      this.#sql.exec(one, maker, key, object_id);
      this.#discard(id, object_id);
    }
  }

  /** @returns whether the key is the object's now; not if another has claimed it since `holder` was asked */
  claim(claim: Claim, { id, object_id }: PredictionUpdate, now: number): boolean {
    if (this.#heldByOther(claim, object_id)) return false;
    this.#sql.exec(CLAIM, claim.maker, claim.key, id, object_id, claim.hash, now);
    return true;
  }

  /**
   * Deletes some keys whose time is over.
   * @returns when the next key's is, unix ms
   */
  expire(now: number): number | undefined {
    this.#sql.exec(
      `DELETE FROM keys WHERE (maker, key) IN
        (SELECT maker, key FROM keys WHERE claimed_at <= ? ORDER BY claimed_at LIMIT ?)`,
      now - KEY_MS,
      MAX_ROWS,
    );
    const [oldest] = this.#sql
      .exec<{ claimed_at: number }>("SELECT claimed_at FROM keys ORDER BY claimed_at LIMIT 1")
      .toArray();
    return oldest && oldest.claimed_at + KEY_MS;
  }

  #heldByOther({ maker, key }: Claim, objectId: string): KeyRow | undefined {
    const [held] = this.#sql
      .exec<KeyRow & Record<string, SqlStorageValue>>(FIND, maker, key, Date.now() - KEY_MS)
      .toArray();
    return held?.object_id === objectId ? undefined : held;
  }

  async #hasBegun({ object_id, error }: KeyRow): Promise<boolean> {
    if (error === NEVER_BEGUN) return false;
    const object = predictionWithId(this.#env, object_id);
    if (!object) throw new Error(`a key names no object of this deployment: ${object_id}`);
    return object.hasBegun();
  }
}

/** Whether the object has begun: it writes its first row before it begins, and every other one afterwards. */
const isKnownToHaveBegun = ({ revision, status, error }: KeyRow) =>
  error !== NEVER_BEGUN &&
  ((revision !== null && isOfBegun(revision)) || (status !== null && isTerminal(status)));
