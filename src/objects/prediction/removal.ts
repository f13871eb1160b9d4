/** Deletes the stored values of a prediction: its data first, its record later (life.ts, forgetAt). */
import type { Bindings } from "../../env.ts";
import { deleteAll } from "../../storage/files/files.ts";
import { listUploadsOf } from "../../storage/files/uploads.ts";
import type { Effects } from "./effects.ts";
import { endUploads } from "./lease-holder.ts";
import type { PredictionRecord } from "./record.ts";
import type { Subscribers } from "./subscribers.ts";

interface Parts {
  ctx: DurableObjectState;
  env: Bindings;
  effects: Effects;
  subscribers: Subscribers;
  /** Called when the record is deleted. */
  onForgotten: () => void;
}

export class Removal {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /**
   * Deletes input, output, log and files. R2 comes first: without the record nobody would know of its
   * objects.
   */
  async purge(record: PredictionRecord, now: number, isKnown = false): Promise<void> {
    const { effects, subscribers } = this.#parts;
    await this.#deleteFiles(record);
    if (!isKnown) await effects.row.write(record, true);
    subscribers.abort(new Error("The data of the prediction has been deleted."));
    const forgetAt = record.life.forgetAt(now);
    if (forgetAt <= now && !record.awaited) return this.forget(record);
    record.removeData(forgetAt);
    effects.alarm.arm(record);
  }

  /** Deletes everything, including objects that were written to R2 after the data was deleted. */
  async forget(record: PredictionRecord): Promise<void> {
    const { ctx, effects, onForgotten } = this.#parts;
    await this.#deleteFiles(record);
    // A webhook may have been requested again meanwhile.
    if (record.awaited) return effects.alarm.arm(record);
    record.isForgotten = true;
    onForgotten();
    effects.alarm.disarmed();
    await ctx.storage.deleteAll();
  }

  async #deleteFiles({ life }: PredictionRecord): Promise<void> {
    if (!life.state.stored) return;
    const { env } = this.#parts;
    await endUploads(env, life.spec.id, listUploadsOf);
    await deleteAll(env.FILES, life.spec.id);
  }
}
