/**
 * Ways of a job to runners: it is offered to the pool when it is created, requested by the pool when a runner
 * has room, and offered a second time when the first runner does not connect.
 */

import { DecryptionFailed } from "../../domain/encryption.ts";
import { decryptVariables, type Variables } from "../../domain/models/variables.ts";
import type { Attempt } from "../../domain/predictions/attempts.ts";
import { newSecret, receiptOf } from "../../domain/predictions/lease.ts";
import { PredictionLife } from "../../domain/predictions/life.ts";
import {
  hasStoredInput,
  isAdmitted,
  type PredictionSpec,
  type SpecWeight,
  waitingJobOf,
} from "../../domain/predictions/state.ts";
import { traceparentOf } from "../../domain/predictions/trace.ts";
import { type Bindings, settings } from "../../env.ts";
import { TimedOut } from "../../lib/timeout.ts";
import { logger } from "../../log.ts";
import type { JobHardware } from "../../protocol/runner.ts";
import type { JobWeight } from "../../protocol/weights.ts";
import { database } from "../../storage/database.ts";
import { signFileUrl } from "../../storage/files/signed-file-urls.ts";
import type { Admission } from "../stubs/account.ts";
import type { Piece } from "../stubs/content.ts";
import { type OfferedJob, type OfferResult, poolOf } from "../stubs/pool.ts";
import type { Refusal } from "../stubs/prediction.ts";
import { newRemote } from "../stubs/remote.ts";
import type { Effects } from "./effects.ts";
import { UNLIMITED } from "./index-row.ts";
import type { PredictionRecord } from "./record.ts";

/**
 * The longest that an offer to a pool takes. The caller of a create waits for it; pools answer within
 * milliseconds.
 */
const OFFER_MS = 3_000;

/**
 * A pool that has not answered may have handed the job to a runner: the attempt stays open for it. If
 * none connects, another one is offered or the job goes through the queue, as after any hand-out.
 */
const ifUnanswered =
  <Taken, Failed>(taken: Taken, failed: Failed) =>
  (error: unknown): Taken | Failed =>
    error instanceof TimedOut ? taken : failed;

/** Why a prediction does not begin, or that another one was created with its key. */
export type NotBegun = { refused: Refusal } | { taken: string };

/** @returns undefined if the prediction is admitted */
function notAdmitted(admission: Admission): NotBegun | undefined {
  if (admission === "unavailable") return { refused: "unavailable" };
  if ("refused" in admission) return admission;
  if ("reserved" in admission) return undefined;
  const { taken } = admission;
  return taken === "conflict" ? { refused: "conflict" } : { taken: taken.object_id };
}

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
   * The express lane: the first attempt is opened with the prediction and offered to the pool; only if no
   * runner takes it does the job go through the queue. The attempt is offered before the prediction is
   * written, so that the runner starts while the object stores it. A runner that connects first waits for
   * that; a runner whose prediction was never written is fenced. A short run is written once, at its end: if
   * the object dies before, it has never begun. The row is written beside the offer; with an Idempotency-Key
   * or a budget before it, because it claims the key and reserves an amount.
   * @param write writes the prediction; not called if it does not begin
   * @returns the reason why it does not begin, if there is one
   */
  async begin(
    spec: PredictionSpec,
    input: string,
    write: (life: PredictionLife) => PredictionRecord,
  ): Promise<NotBegun | undefined> {
    const [life, attempt] = PredictionLife.begin(spec, newSecret());
    const parts = await this.#openParts(spec);
    const { row } = this.#effects;
    const writing = spec.row_held
      ? UNLIMITED
      : row.writeInitial(spec).catch((): Admission => "unavailable");
    if (isAdmitted(spec)) {
      const refused = notAdmitted(await writing);
      if (refused) return refused;
    }
    const [result, admission] = await Promise.all([
      parts ? this.#offer(spec, attempt, spec.stored_input ?? input, parts) : "not decrypted",
      writing,
    ]);
    if (result === "full") {
      // Callers that have stored the input remove it before they discard the row.
      if (!spec.row_held && !hasStoredInput(spec)) await row.discard(spec);
      return { refused: "full" };
    }
    // A runner that has taken it will be fenced.
    const refused = notAdmitted(admission);
    if (refused) return refused;
    if (typeof admission === "object" && "reserved" in admission) life.reserve(admission.reserved);
    const now = Date.now();
    if (result !== "taken") life.closeAttempt(attempt.number, now);
    if (result === "none") life.recordDispatch(now);
    const record = write(life);
    if (spec.row_held) this.#effects.keepSoon(record);
    if (!spec.row_held || result === "none") record.keep();
    if (result === "none") this.#effects.sendDispatch(record);
    if (result === "not decrypted") this.#failWithoutVariables(record);
    return undefined;
  }

  /**
   * Opens an attempt for a runner that has room.
   * @param load the prediction as it is after its parts have been opened
   * @param unplaced the number of an attempt that was offered and never handed out
   * @param containerKey of the job that has its place: after a fallback it is another one's
   * @returns undefined when no attempt is needed any more, which is no error
   */
  async open(
    load: () => PredictionRecord | undefined,
    offered: number | undefined,
    containerKey: string,
  ): Promise<OfferedJob | undefined> {
    const spec = load()?.life.spec;
    const parts = spec && (await this.#openParts(spec));
    const record = load();
    if (!record) return undefined;
    const { life } = record;
    if (life.spec !== spec || spec.keys.container !== containerKey) return undefined;
    const now = Date.now();
    if (offered !== undefined) life.closeAttempt(offered, now);
    if (!parts && life.waiting) this.#failWithoutVariables(record);
    const attempt = parts && life.openAttempt(newSecret(), now);
    if (!attempt) return undefined;
    this.#effects.commit(record);
    return jobOf(life.spec, attempt, this.#objectId, record.input(), parts);
  }

  /**
   * Offers the job to a second runner, because the first has not connected. The attempt is saved before it is
   * offered, so that the runner that takes it finds it.
   */
  async openSecond(record: PredictionRecord): Promise<void> {
    const { life } = record;
    const { spec } = life;
    const parts = await this.#openParts(spec);
    const { attempt: first } = life.state;
    // The first runner may have connected meanwhile, or a fallback answers.
    if (life.spec !== spec || !first || this.#effects.channels.open(first.number)) return;
    const second = life.openSecond(newSecret(), Date.now());
    if (!second) return;
    record.save();
    const taken =
      parts !== undefined &&
      (await poolOf(this.#env, spec.hardware.pool, { ms: OFFER_MS })
        .offerSecond(
          jobOf(spec, second, this.#objectId, record.input(), parts),
          waitingJobOf(spec, this.#objectId),
          receiptOf(first.secret),
        )
        .catch(ifUnanswered(true, false)));
    if (taken || !life.closeAttempt(second.number, Date.now())) return;
    if (life.waiting) this.#effects.dispatch(record, Date.now());
    else record.save();
  }

  /** Hands a remote call to another object. If that does not take it, the alarm tries again. */
  async openRemote(record: PredictionRecord): Promise<void> {
    const { life } = record;
    const { spec } = life;
    const parts = await this.#openParts(spec);
    // The next fallback has another host, which must not get this one's key.
    if (life.spec !== spec) return;
    if (!parts && life.waiting) return this.#failWithoutVariables(record);
    const attempt = parts && life.openAttempt(newSecret(), Date.now());
    if (!attempt) return;
    record.save();
    if ((await this.#offer(spec, attempt, record.input(), parts)) === "taken") return;
    if (!life.closeAttempt(attempt.number, Date.now())) return;
    life.recordDispatch(Date.now());
    this.#effects.commit(record);
  }

  /**
   * Takes back an attempt that its runner has no place for. It does not count as lost.
   * @returns whether the prediction waits for another runner: its pool puts it into line
   */
  takeBack(record: PredictionRecord, number: number): boolean {
    const { life } = record;
    const now = Date.now();
    if (!life.closeAttempt(number, now)) return false;
    if (life.waiting) life.recordDispatch(now);
    this.#effects.commit(record);
    return life.waiting;
  }

  /** @returns undefined when the variables cannot be decrypted */
  async #openParts(spec: PredictionSpec): Promise<OpenedParts | undefined> {
    const variables = await openVariables(this.#env, spec);
    return variables && { variables, weights: await openWeights(this.#env, spec) };
  }

  #offer(
    spec: PredictionSpec,
    attempt: Attempt,
    input: Piece,
    parts: OpenedParts,
  ): Promise<OfferResult> {
    const { number, secret } = attempt;
    if (spec.remote)
      return newRemote(this.#env, OFFER_MS)
        .run({
          ...{ object_id: this.#objectId, attempt: number, secret, spec, input },
          key: parts.variables[spec.remote.key_variable ?? ""],
        })
        .then((): OfferResult => "taken", ifUnanswered("taken", "none"));
    const job = jobOf(spec, attempt, this.#objectId, input, parts);
    return poolOf(this.#env, spec.hardware.pool, { ms: OFFER_MS })
      .offer(job, waitingJobOf(spec, this.#objectId))
      .catch(ifUnanswered("taken", "none"));
  }

  #failWithoutVariables(record: PredictionRecord): void {
    record.life.fail("internal", VARIABLES_NOT_DECRYPTED, Date.now());
    this.#effects.commit(record);
  }
}

/** The error of a prediction whose variables cannot be decrypted, for the model's owner and the operator. */
const VARIABLES_NOT_DECRYPTED =
  "The model's variables could not be decrypted: they were encrypted with a SECRET_KEY that this deployment does not have. Its operator can append that key to SECRET_KEY, or the owner can set the variables again.";

/**
 * Decrypts the variables. Most predictions have none, and wait for nothing.
 * @returns undefined when a key is missing, which is logged
 */
async function openVariables(
  env: Bindings,
  { id, model_id, variables }: PredictionSpec,
): Promise<Variables | undefined> {
  if (Object.keys(variables).length === 0) return variables;
  try {
    return await decryptVariables(settings(env).secretKeys, model_id, variables);
  } catch (error) {
    if (!(error instanceof DecryptionFailed)) throw error;
    logger.error("Variables not decrypted", { prediction_id: id, model_id, error });
    return undefined;
  }
}

/** The weights of a prediction, with URLs that its runner can fetch them from. */

/**
 * How long URLs of weights are valid. They are signed for each hand-out, since it may be hours after the
 * create. 40 GB at 1 MB/s take 11 h.
 */
const URL_MS = 24 * 3_600_000;

/** Signs the URLs of weights. Most predictions have none, and wait for nothing. */
async function openWeights(
  env: Bindings,
  { weights, url }: PredictionSpec,
): Promise<JobWeight[] | undefined> {
  if (!weights) return undefined;
  const { origin } = new URL(url);
  const expires = Date.now() + URL_MS;
  const opened = async (weight: SpecWeight): Promise<JobWeight> => {
    if (weight.kind === "oci") return weight;
    const { kind, target, id, key, size } = weight;
    const signed = await signFileUrl(settings(env), database(env.DB), origin, key, expires);
    return { kind, target, id, url: signed, size };
  };
  return Promise.all(weights.map(opened));
}

/** The parts of a job that are never stored: decrypted variables, and URLs that are valid for a while. */
interface OpenedParts {
  variables: Variables;
  weights: JobWeight[] | undefined;
}

const jobHardwareOf = ({ hardware: { identifier, gpus } }: PredictionSpec): JobHardware => ({
  identifier,
  gpus,
});

function jobOf(
  spec: PredictionSpec,
  attempt: Attempt,
  objectId: string,
  input: Piece,
  { variables, weights }: OpenedParts,
): OfferedJob {
  return {
    job: {
      prediction_id: spec.id,
      attempt: attempt.number,
      model: spec.model,
      image: spec.image,
      keys: spec.keys,
      hardware: jobHardwareOf(spec),
      interface: spec.interface,
      egress: spec.egress,
      call: spec.call,
      ...(spec.responses && { responses: spec.responses }),
      variables,
      setup_logs: spec.setup_logs,
      measure: spec.measure,
      ...(spec.describe && { describe: true }),
      ...(spec.warm_up && { warm_up: true }),
      ...(spec.trace && { traceparent: traceparentOf(spec.trace, attempt.number) }),
      limits: spec.limits,
      files: spec.files,
      ...(weights && { weights }),
    },
    lease: { objectId, secret: attempt.secret },
    // A runner fetches from R2 itself: all jobs of a pool go through one object.
    input: typeof input === "string" ? input : undefined,
  };
}
