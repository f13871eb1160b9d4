/** The end of what is kept: the data goes first, and what it was once nobody asks for it any more. */
import type { Bindings } from "../../env.ts";
import { deleteAll } from "../../storage/files/files.ts";
import type { Effects } from "./effects.ts";
import type { PredictionRecord } from "./record.ts";
import type { Subscribers } from "./subscribers.ts";

interface Parts {
  ctx: DurableObjectState;
  env: Bindings;
  effects: Effects;
  subscribers: Subscribers;
  /** There is no record any more. */
  forgotten: () => void;
}

export class Removal {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Input, output, log and files. R2 first: what nobody knows of any more nobody could remove. */
  async purge(record: PredictionRecord, now: number): Promise<void> {
    const { effects, subscribers } = this.#parts;
    await this.#deleteFiles(record);
    await effects.project(record, true);
    subscribers.abort(new Error("The data of the prediction has been removed."));
    const forgetAt = record.life.forgetAt(now);
    if (forgetAt <= now && !record.unsettled) return this.forget(record);
    record.removeData(forgetAt);
    effects.alarm.arm(record);
  }

  /** All of it. What was written to R2 too late for the first removal goes too. */
  async forget(record: PredictionRecord): Promise<void> {
    const { ctx, effects, forgotten } = this.#parts;
    await this.#deleteFiles(record);
    // Somebody has asked for a webhook once more, meanwhile.
    if (record.unsettled) return effects.alarm.arm(record);
    forgotten();
    effects.alarm.disarmed();
    await ctx.storage.deleteAll();
  }

  async #deleteFiles({ life }: PredictionRecord): Promise<void> {
    if (life.state.stored) await deleteAll(this.#parts.env.FILES, life.spec.id);
  }
}
