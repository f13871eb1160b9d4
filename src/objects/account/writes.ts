/** The account's bucket of what it may write to D1 and R2 (domain/accounts/write-bucket.ts). */
import {
  type BucketState,
  WriteBucket,
  type WriteCost,
  type WriteRates,
} from "../../domain/accounts/write-bucket.ts";

const NAME = "writes";
/** So much of the bucket may change before it is stored: a row for each charge would cost more than it saves. */
const STORED_CHANGE = 0.1;

export class Writes {
  readonly #kv: SyncKvStorage;
  readonly #bucket: WriteBucket;
  /** As it was stored last, or begun: an object that restarts forgets a tenth of a bucket. */
  #stored: BucketState;

  constructor(kv: SyncKvStorage, rates: WriteRates) {
    this.#kv = kv;
    this.#bucket = new WriteBucket(rates, kv.get<BucketState>(NAME));
    this.#stored = this.#bucket.state;
  }

  /** As WriteBucket.take. */
  take(cost: WriteCost, now: number): number {
    const wait = this.#bucket.take(cost, now);
    this.#store();
    return wait;
  }

  settle(difference: WriteCost, now: number): void {
    this.#bucket.settle(difference, now);
    this.#store();
  }

  #store(): void {
    const { state } = this.#bucket;
    if (this.#bucket.changeSince(this.#stored) < STORED_CHANGE) return;
    this.#kv.put(NAME, state);
    this.#stored = state;
  }
}
