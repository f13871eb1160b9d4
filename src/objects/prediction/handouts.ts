/**
 * How a job comes into the hands of runners: offered to the pool when it begins, asked for by the
 * pool when a runner has room, and offered once more when whoever has it is not heard.
 */
import { newSecret, receiptOf } from "../../domain/predictions/lease.ts";
import { PredictionLife } from "../../domain/predictions/life.ts";
import type { PredictionSpec } from "../../domain/predictions/state.ts";
import type { Bindings } from "../../env.ts";
import type { OfferAnswer } from "../pool/object.ts";
import { poolOf } from "../pool/stub.ts";
import type { Effects } from "./effects.ts";
import { jobOf, type OfferedJob, waitingJobOf } from "./job-messages.ts";
import type { PredictionRecord } from "./record.ts";
import { openVariables, UNOPENED } from "./variables.ts";

export class Handouts {
  readonly #objectId: string;
  readonly #env: Bindings;
  readonly #effects: Effects;

  constructor(objectId: string, env: Bindings, effects: Effects) {
    this.#objectId = objectId;
    this.#env = env;
    this.#effects = effects;
  }

  /**
   * Takes the express lane: the first attempt is opened with the prediction itself and offered to
   * the pool, and only when nobody takes it does the job go through the queue. The offer comes
   * before the writing, so that a runner sets out while the object makes its database; one that
   * is here first waits for that, and one whose prediction was never written is fenced.
   * @param write writes it down, and is not called when it does not begin
   * @returns false when the pool takes no more waiting jobs of this account.
   */
  async begin(
    spec: PredictionSpec,
    input: string,
    write: (life: PredictionLife) => PredictionRecord,
  ): Promise<boolean> {
    const [life, attempt] = PredictionLife.begin(spec, newSecret());
    const variables = await openVariables(this.#env, spec);
    const job =
      variables && jobOf(spec, attempt, this.#objectId, spec.stored_input ?? input, variables);
    const answer = job ? await this.#offer(spec, job) : "unopened";
    if (answer === "full") return false;
    const now = Date.now();
    if (answer !== "taken") life.closeAttempt(attempt.number, now);
    if (answer === "none") life.recordDispatch(now);
    const record = write(life);
    this.#effects.alarm.arm(record);
    if (answer === "none") this.#effects.sendDispatch(record);
    if (answer === "unopened") this.#failUnopened(record);
    return true;
  }

  /**
   * Opens an attempt for a runner that has room.
   * @param load the prediction, as it is when its variables have been opened
   * @param unplaced the number of an attempt that was offered and never handed out
   * @returns undefined when none is wanted any more: an ordinary answer
   */
  async open(
    load: () => PredictionRecord | undefined,
    unplaced: number | undefined,
  ): Promise<OfferedJob | undefined> {
    const spec = load()?.life.spec;
    const variables = spec && (await openVariables(this.#env, spec));
    const record = load();
    if (!record) return undefined;
    const { life } = record;
    const now = Date.now();
    if (unplaced !== undefined) life.closeAttempt(unplaced, now);
    if (!variables && life.waiting) this.#failUnopened(record);
    const attempt = variables && life.openAttempt(newSecret(), now);
    if (!attempt) return undefined;
    this.#effects.commit(record);
    return jobOf(life.spec, attempt, this.#objectId, record.input(), variables);
  }

  /**
   * The runner that was handed it is not heard: another that has room is handed it as well. The
   * attempt is there before it is offered, so that whoever takes it finds it.
   */
  async second(record: PredictionRecord): Promise<void> {
    const { life } = record;
    const { spec } = life;
    const variables = await openVariables(this.#env, spec);
    const { attempt: first } = life.state;
    // It may have come meanwhile.
    if (!first || this.#effects.channels.open(first.number)) return;
    const second = life.openSecond(newSecret(), Date.now());
    if (!second) return;
    record.save();
    const taken =
      variables !== undefined &&
      (await poolOf(this.#env, spec.hardware)
        .offerSecond(
          jobOf(spec, second, this.#objectId, record.input(), variables),
          waitingJobOf(spec, this.#objectId),
          receiptOf(first.secret),
        )
        .catch(() => false));
    if (taken || !life.closeAttempt(second.number, Date.now())) return;
    if (life.waiting) this.#effects.dispatch(record, Date.now());
    else record.save();
  }

  #offer(spec: PredictionSpec, job: OfferedJob): Promise<OfferAnswer> {
    return poolOf(this.#env, spec.hardware)
      .offer(job, waitingJobOf(spec, this.#objectId))
      .catch(() => "none");
  }

  #failUnopened(record: PredictionRecord): void {
    record.life.fail("internal", UNOPENED, Date.now());
    this.#effects.commit(record);
  }
}
