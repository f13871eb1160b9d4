/** Messages of the two queues. */

import { z } from "zod";
import { priority, uuid } from "./common.ts";
import { storedSums } from "./usage.ts";

export const waitingJob = z.object({
  object_id: z.string(),
  user_id: uuid,
  pool: z.string(),
  /** The class of hardware, which belongs to the pool, and its number of GPUs. */
  hardware: z.string(),
  gpus: z.int().nonnegative(),
  priority,
  /** The model's name with the version, as of the creation, and its owner, for explanations. */
  model: z.string(),
  model_id: uuid,
  model_owner_id: uuid,
  /** `repository@digest`. */
  image: z.string(),
  /** Identifies containers that the job may share. */
  container_key: z.string(),
  /** The number of runs that such a container has room for. */
  max_concurrency: z.int().positive(),
  run_limit_ms: z.int().positive(),
  /** The job only starts a container that a capacity claim lacks, and makes no call to it. */
  warm_up: z.literal(true).optional(),
});
export type WaitingJob = z.infer<typeof waitingJob>;

export const dispatchMessage = waitingJob;

/** Queue `counts`: the usage of an account on a day. */
export const usageMessage = z.object({
  user_id: uuid,
  day: z.iso.date(),
  ...storedSums,
  told_at: z.int().nonnegative(),
});
export type UsageMessage = z.infer<typeof usageMessage>;

/** Queue `counts`: how many predictions of a model an account has made, ever. */
export const countMessage = z.object({
  user_id: uuid,
  model_id: uuid,
  predictions: z.int().nonnegative(),
});
export type CountMessage = z.infer<typeof countMessage>;

/** Queue `counts`: the end of a prediction that starts a container of a deployment's release. */
export const startMessage = z.object({
  deployment_id: uuid,
  release: z.int().positive(),
  /** Null: the container has started, and a probe has succeeded. */
  failure: z.string().nullable(),
});
export type StartMessage = z.infer<typeof startMessage>;

/** A message of the queue `counts`. */
export const accountMessage = z.union([countMessage, usageMessage, startMessage]);
export type AccountMessage = z.infer<typeof accountMessage>;
