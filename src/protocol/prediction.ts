/** Predictions: the resource, its list, and the request that creates one. */
import { z } from "zod";
import {
  json,
  jsonObject,
  modelReference,
  orNull,
  pageQuery,
  priority,
  repeated,
  timestamp,
  uuid,
} from "./common.ts";
import { cost } from "./money.ts";
import { webhook } from "./webhook.ts";

export const taskStatus = z.enum(["pending", "started", "succeeded", "failed", "canceled"]).meta({
  id: "TaskStatus",
  description:
    "`pending`: queued. `started`: assigned to a runner. `succeeded`, `failed` and `canceled` are final.",
  example: "succeeded",
});
export type TaskStatus = z.infer<typeof taskStatus>;

export const predictionError = z
  .object({
    source: z.enum(["internal", "external"]).meta({
      description:
        "`external`: the model or its container. `internal`: the service or a lost runner",
      example: "external",
    }),
    message: z.string().meta({ example: "The model ran out of memory." }),
    detail: json.meta({ description: "Additional information, or null", example: null }),
  })
  .meta({ id: "PredictionError", description: "Why the prediction failed" });
export type PredictionError = z.infer<typeof predictionError>;

const metrics = z
  .object({ input_tokens: z.int().optional(), output_tokens: z.int().optional() })
  .catchall(z.number())
  .meta({
    id: "Metrics",
    description: "Metrics reported by the model: token counts, if available, and any others",
    example: { input_tokens: 12, output_tokens: 180 },
  });

const secondsText = z
  .string()
  .regex(/^\d+\.\d{3}$/)
  .nullable();

/** A prediction in a list, without input and output. */
export const prediction = z
  .object({
    id: uuid,
    model: z.object({
      owner: z.string().meta({ example: "demo" }),
      name: z.string().meta({ example: "story" }),
      version_number: z.int().meta({ example: 3 }),
    }),
    deployment: z.string().optional().meta({
      description: "`owner/name` of the deployment that ran it. Absent if a model was named",
      example: "demo/chat",
    }),
    created_at: timestamp,
    updated_at: timestamp,
    status: taskStatus,
    setup_time: secondsText.meta({
      description: "Decimal seconds from assignment to a runner until the container was ready",
      example: "1.204",
    }),
    execution_time: secondsText.meta({
      description: "Decimal seconds that the model ran",
      example: "0.412",
    }),
    error: orNull(predictionError).meta({
      description: "Null unless the prediction failed",
      example: null,
    }),
    metrics: orNull(metrics).meta({ description: "Null until the model reports metrics" }),
    cost: orNull(cost).meta({ description: "Null until the prediction ends" }),
    url: z.url().meta({
      description: "URL of the prediction",
      example: "https://auspex.example.com/v1/predictions/01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e",
    }),
    stream: z
      .boolean()
      .meta({ description: "Whether the prediction was created with `stream`", example: false }),
    created_by: z.string().nullable().meta({
      description:
        "For a prediction of an organization: the username of the member who created it, or the name of the service token, at that time. Otherwise null, and always in events",
      example: null,
    }),
  })
  .meta({ id: "Prediction", description: "A prediction without its input and output" });
export type Prediction = z.infer<typeof prediction>;

export const predictionWithIO = prediction
  .extend({
    input: json.meta({
      description: "The input, or null once the data has been removed",
      example: { prompt: "The Queen" },
    }),
    output: json.meta({
      description:
        "Output of the model; null if there is none yet. If the output is streamed, a list of up to 200,000 items",
      example: ["The Queen", " sighed."],
    }),
    data_removed: z.boolean().meta({
      description:
        "Whether input, output and events have been removed, by you or after the retention period",
      example: false,
    }),
  })
  .meta({ id: "PredictionWithIO", description: "A prediction with its input and output" });
export type PredictionWithIO = z.infer<typeof predictionWithIO>;

/** Long enough for a client that waits for the end to read the result. */
export const MIN_RETENTION_SECONDS = 60;

const createOptions = {
  input: jsonObject.meta({
    description: "Input of the model, as described by the `schemas` of its version",
    example: { prompt: "The Queen" },
  }),
  stream: z
    .boolean()
    .default(false)
    .meta({ description: "Return the event stream, and ask the model to stream its output" }),
  start_check: z.literal(true).optional().meta({
    description:
      "Marks the run as a start check of `auspex publish`. The dashboard and usage show this in place of the token",
  }),
  webhook: orNull(webhook).optional(),
  priority: priority.optional().meta({
    description:
      "Queue priority for this hardware. Defaults to `normal`, or to the token's maximum",
    example: "low",
  }),
  retention_seconds: z.int().min(MIN_RETENTION_SECONDS).optional().meta({
    description:
      "How long to keep input, output, events and files after the prediction ends. Default and maximum: the deployment's retention period (30 days)",
    example: 3_600,
  }),
};

/** The body of POST /models/{owner}/{name}/…/predictions. Strict: a misspelt field could be `retention_seconds`. */
export const createPredictionOfVersion = z
  .strictObject(createOptions)
  .meta({ id: "CreatePredictionOfVersion", example: { input: { prompt: "The Queen" } } });
export type CreatePredictionOfVersion = z.infer<typeof createPredictionOfVersion>;

/** The body of POST /predictions. */
export const createPrediction = z
  .strictObject({
    model: modelReference.meta({
      description: "`owner/name` for the model's default version, or `owner/name:3` for version 3",
    }),
    ...createOptions,
  })
  .meta({
    id: "CreatePrediction",
    example: { model: "demo/text-generation", input: { prompt: "The Queen" } },
  });

export const onePrediction = z.object({
  prediction_id: uuid.meta({ example: "01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e" }),
});

const MAX_STATUSES = 5;

const moment = z.union([z.iso.date(), z.iso.datetime({ offset: true })]);

export const predictionQuery = pageQuery().extend({
  statuses: repeated(taskStatus, MAX_STATUSES).meta({
    description: "Predictions with any of these statuses. Repeat the parameter to pass several",
    example: ["pending", "started"],
  }),
  model: z
    .string()
    .regex(/^[a-z0-9._-]{1,63}\/[a-z0-9._-]{1,63}$/, "<model_owner>/<model_name>")
    .optional()
    .meta({
      description:
        "Predictions of any version of this model. If the model no longer exists, matches the name it had when it ran",
      example: "demo/text-generation",
    }),
  id: z
    .string()
    .regex(
      /^(?:[0-9A-Fa-f-]{1,36}|(?:…|\.\.\.)[0-9A-Fa-f-]{8,35})$/,
      "Invalid ID prefix or suffix. Send the beginning of an ID (digits, letters a to f, and hyphens), or at least its last 8 characters",
    )
    .optional()
    .meta({
      description:
        "Predictions whose ID starts with this value, or ends with it (at least 8 characters). Start the value with `…` or `...` to match the end; without that, the end is matched only if no ID can start with the value. Matching the end searches up to 10,000 predictions per page, so pages can be empty before the last one",
      example: "01980c3e-7b0a",
    }),
  token: z.string().min(1).max(100).optional().meta({
    description: "Predictions created by an access token with this name, including revoked tokens",
    example: "ci",
  }),
  created_by: z.string().min(1).max(100).optional().meta({
    description:
      "Predictions of an organization that this member (username) or service token (name) created",
    example: "ada",
  }),
  created_after: moment.optional().meta({
    description: "Predictions created at this time or later: a date (UTC), or a date and time",
    example: "2026-11-01",
  }),
  created_before: moment.optional().meta({
    description: "Predictions created before this time",
    example: "2026-12-01T00:00:00Z",
  }),
  min_execution_time: z
    .string()
    .regex(/^\d{1,9}(?:\.\d{1,3})?$/, "Input should be a number of seconds, such as 2.5")
    .optional()
    .meta({
      description: "Predictions that ran for at least this many seconds",
      example: "2.5",
    }),
});
export type PredictionQuery = z.infer<typeof predictionQuery>;
