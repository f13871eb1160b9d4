/** The work of each deadline that has passed. Times of deadlines are in domain/predictions/deadlines.ts. */
import { type Deadline, forgetAt } from "../../domain/predictions/deadlines.ts";
import type { Bindings } from "../../env.ts";
import { deleteAll } from "../../storage/files/files.ts";
import { listUploadsOf } from "../../storage/files/uploads.ts";
import { cancel } from "./alarm.ts";
import type { Effects } from "./effects.ts";
import { endUploads } from "./lease-holder.ts";
import type { PredictionRecord } from "./record.ts";
import type { RunnerConnection } from "./runner-connection.ts";
import type { Subscribers } from "./subscribers.ts";

/** All deadlines but those that need asynchronous work: object.ts handles these itself. */
type Kind = Exclude<Deadline["kind"], "retention" | "forget" | "token" | "second" | "extension">;

export function handleDeadline(
  record: PredictionRecord,
  kind: Kind,
  now: number,
  effects: Effects,
  connection: RunnerConnection,
): void {
  const { life } = record;
  const { hardware, queue_timeout_seconds, setup_timeout_seconds, timeout_seconds } = life.spec;
  switch (kind) {
    case "wait":
      cancel(record, effects, "the wait its caller allowed is over");
      return;
    case "caller":
      cancel(record, effects, "its caller has disconnected");
      return;
    case "redispatch":
      return effects.dispatch(record, now);
    case "connect":
      life.expireHandout(now);
      return effects.dispatch(record, now);
    case "missed": {
      const attempt = life.attempts.expireDismissed();
      if (attempt) effects.reportMissed(record, attempt);
      break;
    }
    case "lease":
      return connection.leaseExpired(record, now);
    case "queue":
      life.fail(
        "internal",
        `No '${hardware.identifier}' runner was available within ${queue_timeout_seconds} s.`,
        now,
      );
      break;
    case "setup":
      life.fail("external", `The container was not ready within ${setup_timeout_seconds} s.`, now);
      break;
    case "run":
      life.fail("external", `The model did not finish within ${timeout_seconds} s.`, now);
      break;
    case "budget":
      if (life.state.extension_refused) life.stop("external", BUDGET_EXHAUSTED, now, EXHAUSTED);
      else life.stop("internal", "The budget could not be checked in time.", now);
      break;
    case "fallback":
      life.fallBack(`It did not begin to run within ${life.fallback?.after_seconds} s.`, now);
      break;
    case "webhooks":
      return effects.deliver(record, now);
    case "cancel":
      life.enforceCancel(now);
  }
  effects.commit(record);
}

const BUDGET_EXHAUSTED =
  "The prediction was stopped because it would have exceeded a budget. See what applies and what is left at GET /v1/budgets.";
const EXHAUSTED = { code: "budget_exhausted" };

interface Parts {
  ctx: DurableObjectState;
  env: Bindings;
  effects: Effects;
  subscribers: Subscribers;
  /** Called when the record is deleted. */
  onForgotten: () => void;
}

/** Deletes the stored values of a prediction: its data first, its record later (`forgetAt`). */
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
    subscribers.abort(new Error("The prediction's data was deleted."));
    const at = forgetAt(record.life, now);
    if (at <= now && !record.awaited) return this.forget(record);
    record.removeData(at);
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
