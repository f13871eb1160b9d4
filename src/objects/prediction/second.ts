/** The runner that was handed a job is not heard: another that has room is handed it as well. */
import { newSecret, receiptOf } from "../../domain/lease.ts";
import type { Bindings } from "../../env.ts";
import { poolOf } from "../pool/stub.ts";
import type { Effects } from "./effects.ts";
import { jobOf, waitingJobOf } from "./messages.ts";
import type { PredictionRecord } from "./record.ts";
import { openVariables } from "./variables.ts";

/** The attempt is there before it is offered, so that whoever takes it finds it. */
export async function offerSecond(
  record: PredictionRecord,
  effects: Effects,
  env: Bindings,
  objectId: string,
): Promise<void> {
  const { life } = record;
  const { spec } = life;
  const variables = await openVariables(env, spec);
  const { attempt: first } = life.state;
  // It may have come meanwhile.
  if (!first || effects.channels.open(first.number)) return;
  const second = life.openSecond(newSecret(), Date.now());
  if (!second) return;
  record.save();
  const taken =
    variables !== undefined &&
    (await poolOf(env, spec.hardware)
      .offerSecond(
        jobOf(spec, second, objectId, record.input(), variables),
        waitingJobOf(spec, objectId),
        receiptOf(first.secret),
      )
      .catch(() => false));
  if (taken || !life.closeAttempt(second.number, Date.now())) return;
  if (life.waiting) effects.dispatch(record, Date.now());
  else record.save();
}
