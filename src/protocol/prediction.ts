/** Predictions on the wire: the resource, its list, what creates one. */
import { z } from "zod";
import {
  json,
  jsonObject,
  modelReference,
  orNull,
  pageQuery,
  repeated,
  timestamp,
  uuid,
} from "./common.ts";
import { webhook } from "./webhook.ts";

export const taskStatus = z.enum(["pending", "started", "succeeded", "failed", "canceled"]).meta({
  id: "TaskStatus",
  description:
    "`pending`: waits for a runner. `started`: a runner has it. `succeeded`, `failed`, `canceled`: it has ended, and stays so.",
  example: "succeeded",
});
export type TaskStatus = z.infer<typeof taskStatus>;

export const predictionError = z
  .object({
    source: z.enum(["internal", "external"]).meta({
      description: "`external`: the model or its container. `internal`: the service, a lost runner",
      example: "external",
    }),
    message: z.string().meta({ example: "The model ran out of memory." }),
    detail: json.meta({ description: "Whatever else is known, or null", example: null }),
  })
  .meta({ id: "PredictionError", description: "Why it failed" });
export type PredictionError = z.infer<typeof predictionError>;

const metrics = z
  .object({ input_tokens: z.int().optional(), output_tokens: z.int().optional() })
  .catchall(z.number())
  .meta({
    id: "Metrics",
    description: "What the model counts: tokens, where it has them, and whatever else it reports",
    example: { input_tokens: 12, output_tokens: 180 },
  });

const secondsText = z
  .string()
  .regex(/^\d+\.\d{3}$/)
  .nullable();

/** A prediction as lists have it: without input and output. */
export const prediction = z
  .object({
    id: uuid,
    model: z.object({
      owner: z.string().meta({ example: "demo" }),
      name: z.string().meta({ example: "story" }),
      version_number: z.int().meta({ example: 3 }),
    }),
    created_at: timestamp,
    updated_at: timestamp,
    status: taskStatus,
    setup_time: secondsText.meta({
      description: "Decimal seconds from a runner having it to the container being ready",
      example: "1.204",
    }),
    execution_time: secondsText.meta({
      description: "Decimal seconds that the model ran",
      example: "0.412",
    }),
    error: orNull(predictionError).meta({ description: "Null unless it failed", example: null }),
    metrics: orNull(metrics).meta({ description: "Null until the model reports any" }),
    url: z.url().meta({
      description: "Its own address",
      example: "https://auspex.example.com/v1/predictions/01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e",
    }),
    stream: z
      .boolean()
      .meta({ description: "Whether it was created with `stream`", example: false }),
  })
  .meta({ id: "Prediction", description: "A prediction without its input and output" });
export type Prediction = z.infer<typeof prediction>;

/** The full form, as create and get answer it. */
export const predictionWithIO = prediction
  .extend({
    input: json.meta({
      description: "As it was given, or null once its data is removed",
      example: { prompt: "The Queen" },
    }),
    output: json.meta({
      description:
        "What the model made: null until there is any; a list when it came in parts, of which there are 200,000 at most",
      example: ["The Queen", " sighed."],
    }),
    data_removed: z.boolean().meta({
      description: "True once retention has taken input, output and events",
      example: false,
    }),
  })
  .meta({ id: "PredictionWithIO", description: "A prediction in full" });
export type PredictionWithIO = z.infer<typeof predictionWithIO>;

/** So long at least whoever waits for the end can read what came of it. */
export const MIN_RETENTION_SECONDS = 60;

const createOptions = {
  input: jsonObject.meta({
    description: "What the model takes: see `schemas` of its version",
    example: { prompt: "The Queen" },
  }),
  stream: z
    .boolean()
    .default(false)
    .meta({ description: "Answer with the event stream itself, and ask the model for parts" }),
  webhook: orNull(webhook).optional(),
  retention_seconds: z.int().min(MIN_RETENTION_SECONDS).optional().meta({
    description:
      "How long input, output, events and files are kept once it has ended: at most, and by default, as long as the deployment keeps them (30 days)",
    example: 3_600,
  }),
};

/** The body of POST /models/{owner}/{name}/…/predictions. What is misspelt might be how long it is kept. */
export const createPredictionOfVersion = z
  .strictObject(createOptions)
  .meta({ id: "CreatePredictionOfVersion", example: { input: { prompt: "The Queen" } } });
export type CreatePredictionOfVersion = z.infer<typeof createPredictionOfVersion>;

/** The body of POST /predictions. */
export const createPrediction = z
  .strictObject({
    model: modelReference.meta({
      description: "`owner/name` runs the latest version, `owner/name:3` that one",
    }),
    ...createOptions,
  })
  .meta({
    id: "CreatePrediction",
    example: { model: "demo/story", input: { prompt: "The Queen" } },
  });

/** What an address of a prediction says. */
export const onePrediction = z.object({
  prediction_id: uuid.meta({ example: "01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e" }),
});

const MAX_STATUSES = 5;

/** The query of the list. */
export const predictionQuery = pageQuery().extend({
  statuses: repeated(taskStatus, MAX_STATUSES).meta({
    description: "Predictions in any of these states; repeat it for several",
    example: ["pending", "started"],
  }),
  model: z
    .string()
    .regex(/^[a-z0-9._-]{1,63}\/[a-z0-9._-]{1,63}$/, "<model_owner>/<model_name>")
    .optional()
    .meta({
      description:
        "Predictions of the model that has this name now, whatever the version; when none has it, those whose model was called so when they ran",
      example: "demo/story",
    }),
});
export type PredictionQuery = z.infer<typeof predictionQuery>;
