/** What a prediction says to the pool and to the queues. */

import type { Variables } from "../../domain/models/variables.ts";
import type { Attempt } from "../../domain/predictions/attempts.ts";
import { predictionRow } from "../../domain/predictions/prediction-row.ts";
import type { PredictionSpec } from "../../domain/predictions/state.ts";
import type { WaitingJob } from "../../protocol/queue.ts";
import type { Job } from "../../protocol/runner.ts";
import type { Piece } from "./log.ts";
import type { PredictionRecord } from "./record.ts";

/** A job on its way to a runner; the input stays text, for it is only passed on. */
export interface OfferedJob {
  job: Omit<Job, "input" | "lease">;
  /** What the pool makes the lease of, for whomever it hands the job to. */
  lease: { objectId: string; secret: string };
  input: string | undefined;
}

/** @param variables as the containers find them: nothing writes a job down */
export function jobOf(
  spec: PredictionSpec,
  attempt: Attempt,
  objectId: string,
  input: Piece,
  variables: Variables,
): OfferedJob {
  return {
    job: {
      prediction_id: spec.id,
      attempt: attempt.number,
      model: spec.model,
      image: spec.image,
      keys: spec.keys,
      interface: spec.interface,
      egress: spec.egress,
      call: spec.call,
      variables,
      setup_logs: spec.setup_logs,
      measure: spec.measure,
      limits: spec.limits,
      files: spec.files,
    },
    lease: { objectId, secret: attempt.secret },
    // What lies in R2 a runner fetches itself: the pool is one object for all.
    input: typeof input === "string" ? input : undefined,
  };
}

export function waitingJobOf(spec: PredictionSpec, objectId: string): WaitingJob {
  return {
    object_id: objectId,
    user_id: spec.user_id,
    hardware: spec.hardware,
    image: `${spec.image.repository}@${spec.image.digest}`,
    container_key: spec.keys.container,
  };
}

export const predictionRowOf = ({ life, log }: PredictionRecord, objectId: string) =>
  predictionRow(life.spec, life.state, objectId, log.last);
