/** The parts of the OpenAPI document that the three operations for creating predictions share. */
import { z } from "@hono/zod-openapi";
import { type PredictionWithIO, predictionWithIO } from "../../protocol/prediction.ts";
import { errorResponses, problemResponse } from "../responses.ts";

export const CREATING = `Responds immediately with 202 and the pending prediction, unless \`Prefer: wait\` asks to wait for its end. Requires the scope \`predict\`.

With \`stream: true\` the response is the event stream, as returned by GET /predictions/{prediction_id}/stream; leaving it does not cancel the prediction. Generated clients create without \`stream\` and then read that stream.`;

/** `wait` and `cancel`: see domain/predictions/prefer.ts. */
export const prefer = z.string().optional();

export const createHeaders = z.object({
  "validate-input": z.enum(["true", "false"]).optional().meta({
    type: "boolean",
    default: false,
    description:
      "Validates the input against the version's schema before the run, and answers 422 if it does not match. The operator may have changed the default to `true`",
  }),
  prefer: prefer.meta({
    description:
      "`wait` or `wait=<seconds>` waits for the end, 60 s at most unless the operator chose otherwise; `wait=<seconds>, cancel` cancels what takes longer, which is a 202. An account waits for and streams 500 at once, unless the operator chose otherwise: beyond that it is a 429. With `stream` it is the longest silence before the stream closes, up to 3,600 s. Other values are ignored",
    example: "wait=10",
  }),
  "idempotency-key": z.string().min(1).max(255).optional().meta({
    description:
      "For 24 h, a repeated request returns the prediction of the first one; with a different body it is a 409",
    example: "order-1742",
  }),
});

export const preferenceHeader = {
  "preference-applied": {
    description: "The preferences that were honored",
    schema: { type: "string" as const },
    example: "wait=10",
  },
};

const createdHeaders = {
  location: {
    description: "The path of the prediction",
    schema: { type: "string" as const },
    example: "/v1/predictions/01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e",
  },
  ...preferenceHeader,
};

const PENDING: PredictionWithIO = {
  id: "01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e",
  model: { owner: "demo", name: "story", version_number: 3 },
  created_at: "2026-11-20T10:15:30.000Z",
  updated_at: "2026-11-20T10:15:30.000Z",
  status: "pending",
  setup_time: null,
  execution_time: null,
  error: null,
  metrics: null,
  url: "https://auspex.example.com/v1/predictions/01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e",
  stream: false,
  input: { prompt: "The Queen" },
  output: null,
  data_removed: false,
};

export const createAnswers = {
  200: {
    description:
      "The prediction has ended within the wait. With `stream: true`, the response is the event stream that GET /predictions/{prediction_id}/stream documents",
    headers: createdHeaders,
    // text/event-stream is left out: it would make the type of generated clients `PredictionWithIO | string`.
    content: { "application/json": { schema: predictionWithIO } },
  },
  202: {
    description: "The prediction has not ended: poll its `url`",
    headers: createdHeaders,
    content: { "application/json": { schema: predictionWithIO, example: PENDING } },
  },
  ...errorResponses,
  409: problemResponse(
    "The `Idempotency-Key` was used for a different request, or the account's storage is full: `detail` says what to do",
  ),
  429: problemResponse(
    "Too many requests, too many of your predictions wait for this hardware, or too many of your requests wait",
  ),
  503: problemResponse("The prediction could not be created and will not run: try again"),
};
