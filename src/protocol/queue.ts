/** Messages of the two queues. */
import { z } from "zod";
import { uuid } from "./common.ts";
import { metrics } from "./event.ts";
import { predictionError, taskStatus } from "./prediction.ts";

/** A job that waits for a runner: what the pool needs to place it. */
export const waitingJob = z.object({
  /** The id of the prediction's object. */
  object_id: z.string(),
  user_id: uuid,
  hardware: z.string(),
  /** `repository@digest`. */
  image: z.string(),
  /** Identifies containers that the job may share. */
  container_key: z.string(),
});
export type WaitingJob = z.infer<typeof waitingJob>;

/** Queue `dispatch`. */
export const dispatchMessage = waitingJob;

/** Queue `projection`: the current row of a prediction. A row with a higher `revision` is not overwritten. */
export const projectionMessage = z.object({
  id: uuid,
  object_id: z.string(),
  user_id: uuid,
  model_id: uuid,
  model_owner: z.string(),
  model_name: z.string(),
  version_number: z.number().int(),
  stream: z.boolean(),
  status: taskStatus,
  /** Unix ms. */
  created_at: z.number().int(),
  updated_at: z.number().int(),
  setup_time: z.number().nullable(),
  execution_time: z.number().nullable(),
  error: predictionError.nullable(),
  metrics: metrics.nullable(),
  data_removed: z.boolean(),
  /** Size of the version's image, from the first prediction that measured it. */
  image_bytes: z.number().int().nullable(),
  /** The id of the last event, which increases with every change. */
  revision: z.number().int(),
});
export type ProjectionMessage = z.infer<typeof projectionMessage>;
