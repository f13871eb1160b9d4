/** Predictions on the wire: the resource, its list, what creates one. */
import { z } from "zod";
import { json, modelReference, timestamp, uuid } from "./common.ts";
import { metrics } from "./event.ts";

export const taskStatus = z.enum(["pending", "started", "succeeded", "failed", "canceled"]);
export type TaskStatus = z.infer<typeof taskStatus>;

export const predictionError = z.object({
  source: z.enum(["internal", "external"]),
  message: z.string(),
  detail: json.nullable(),
});
export type PredictionError = z.infer<typeof predictionError>;

/** Decimal seconds as text, `"0.412"`. */
const secondsText = z.string().regex(/^\d+\.\d{3}$/);

/** A prediction as lists have it: without input and output. */
export const prediction = z.object({
  id: uuid,
  model: z.object({ owner: z.string(), name: z.string(), version_number: z.number().int() }),
  created_at: timestamp,
  updated_at: timestamp,
  status: taskStatus,
  setup_time: secondsText.nullable(),
  execution_time: secondsText.nullable(),
  error: predictionError.nullable(),
  metrics: metrics.nullable(),
  url: z.url(),
  stream: z.boolean(),
});
export type Prediction = z.infer<typeof prediction>;

/** The full form, as create and get answer it. */
export const predictionWithIO = prediction.extend({
  input: json.nullable(),
  output: json.nullable(),
  /** True once retention has taken input, output and log. */
  data_removed: z.boolean(),
});
export type PredictionWithIO = z.infer<typeof predictionWithIO>;

export const webhookEvent = z.enum(["started", "output", "completed"]);

export const webhook = z.object({
  url: z.url({ protocol: /^https?$/ }).max(2_048),
  /** Signs what is delivered. Never shown again. */
  secret: z.string().min(8).max(256).optional(),
  /** Which events to deliver; absent means `started` and `completed`. */
  events: z.array(webhookEvent).min(1).max(3).optional(),
});
export type Webhook = z.infer<typeof webhook>;

const input = z.record(z.string(), json);

/** The body of POST /models/{owner}/{name}/…/predictions. */
export const createPredictionOfVersion = z.object({
  input,
  stream: z.boolean().default(false),
  webhook: webhook.nullish(),
});
export type CreatePredictionOfVersion = z.infer<typeof createPredictionOfVersion>;

/** The body of POST /predictions. */
export const createPrediction = createPredictionOfVersion.extend({ model: modelReference });

export const MAX_STATUSES = 5;
