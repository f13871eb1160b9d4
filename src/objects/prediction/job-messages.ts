/** The messages of a prediction to its pool, to the queue and to its account. */
import type { Variables } from "../../domain/models/variables.ts";
import type { Attempt } from "../../domain/predictions/attempts.ts";
import { predictionRow } from "../../domain/predictions/prediction-row.ts";
import type { PredictionSpec } from "../../domain/predictions/state.ts";
import type { WaitingJob } from "../../protocol/queue.ts";
import type { Job, JobHardware } from "../../protocol/runner.ts";
import type { JobWeight } from "../../protocol/weights.ts";
import type { PredictionRecord } from "./record.ts";
import type { Piece } from "./rpc-types.ts";

/** A job on its way to a runner. The input is not parsed: it is only passed on. */
export interface OfferedJob {
  job: Omit<Job, "input" | "lease" | "handout" | "stop">;
  /** The parts of the lease, which the pool makes for the runner that it hands the job to. */
  lease: { objectId: string; secret: string };
  input: string | undefined;
}

/** The parts of a job that are never stored: decrypted variables, and URLs that are valid for a while. */
export interface OpenedParts {
  variables: Variables;
  weights: JobWeight[] | undefined;
}

const jobHardwareOf = ({ hardware: { identifier, gpus } }: PredictionSpec): JobHardware => ({
  identifier,
  gpus,
});

export function jobOf(
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
      limits: spec.limits,
      files: spec.files,
      ...(weights && { weights }),
    },
    lease: { objectId, secret: attempt.secret },
    // A runner fetches from R2 itself: all jobs of a pool go through one object.
    input: typeof input === "string" ? input : undefined,
  };
}

export function waitingJobOf(spec: PredictionSpec, objectId: string): WaitingJob {
  return {
    object_id: objectId,
    user_id: spec.user_id,
    pool: spec.hardware.pool,
    hardware: spec.hardware.identifier,
    gpus: spec.hardware.gpus,
    priority: spec.priority,
    model: `${spec.model.owner}/${spec.model.name}:${spec.model.version_number}`,
    model_id: spec.model_id,
    model_owner_id: spec.model_owner_id,
    image: `${spec.image.repository}@${spec.image.digest}`,
    container_key: spec.keys.container,
    room: spec.limits.max_concurrency,
    run_limit_ms: spec.timeout_seconds * 1_000,
  };
}

/** The row of a prediction as of all that is logged: it is written before or after the log is stored. */
export const predictionRowOf = (
  { life, log }: PredictionRecord,
  objectId: string,
  carried?: boolean,
) => predictionRow(life.spec, life.state, objectId, log.stored, carried);
