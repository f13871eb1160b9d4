/** The messages of the two queues. */
import { z } from "zod";
import { uuid } from "./common.ts";
import { metrics } from "./event.ts";
import { predictionError, taskStatus } from "./prediction.ts";

/** A job that waits for a runner: what the pool must know of it to place it. */
export const waitingJob = z.object({
  /** The id of the prediction's object. */
  object_id: z.string(),
  user_id: uuid,
  hardware: z.string(),
  /** `repository@digest`. */
  image: z.string(),
  /** Of the container that it may run in. */
  container_key: z.string(),
});
export type WaitingJob = z.infer<typeof waitingJob>;

/** Queue `dispatch`. */
export const dispatchMessage = waitingJob;

/** Queue `projection`: the row of a prediction as it should be. Rows with a later `revision` stand. */
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
  /** Unix times, ms. */
  created_at: z.number().int(),
  updated_at: z.number().int(),
  setup_time: z.number().nullable(),
  execution_time: z.number().nullable(),
  error: predictionError.nullable(),
  metrics: metrics.nullable(),
  data_removed: z.boolean(),
  /** Of its version's image, when it is the first to know. */
  image_bytes: z.number().int().nullable(),
  /** The id of the last event: rises with every change. */
  revision: z.number().int(),
});
export type ProjectionMessage = z.infer<typeof projectionMessage>;
