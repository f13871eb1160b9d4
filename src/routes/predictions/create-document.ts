/** The parts of the OpenAPI document that the three operations for creating predictions share. */
import { z } from "@hono/zod-openapi";
import { type PredictionWithIO, predictionWithIO } from "../../protocol/prediction.ts";
import { errorResponses, problemResponse } from "../responses.ts";

export const CREATING = `Returns 202 and the pending prediction immediately, unless you send \`Prefer: wait\`. Requires the scope \`predict\`.

With \`stream: true\`, the response is the event stream, as returned by GET /predictions/{prediction_id}/stream. Closing it does not cancel the prediction. With a generated client, create the prediction without \`stream\`, then read that stream.`;

/** `wait` and `cancel`: see domain/predictions/prefer.ts. */
export const prefer = z.string().optional();

export const createHeaders = z.object({
  "validate-input": z.enum(["true", "false"]).optional().meta({
    type: "boolean",
    default: false,
    description:
      "`true` validates the input against the version's schema before the run, and returns 422 if it does not match. Defaults to `false` unless the operator has changed it",
  }),
  prefer: prefer.meta({
    description:
      "`wait` or `wait=<seconds>` waits for the prediction to end, for up to 60 s by default. `wait=<seconds>, cancel` also cancels the prediction when the time is up, and returns 202. With `stream`, the stream closes after this many seconds without an event, up to 3,600. Other values are ignored. An account can have 500 waiting requests and streams at a time by default; more return 429",
    example: "wait=10",
  }),
  "idempotency-key": z.string().min(1).max(255).optional().meta({
    description:
      "Repeating a request with the same key within 24 h returns the first prediction instead of creating another. A different body returns 409",
    example: "order-1742",
  }),
});

export const preferenceHeader = {
  "preference-applied": {
    description: "The preferences that the server honored",
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
  cost: null,
  url: "https://auspex.example.com/v1/predictions/01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e",
  stream: false,
  created_by: null,
  input: { prompt: "The Queen" },
  output: null,
  data_removed: false,
};

export const createAnswers = {
  200: {
    description:
      "The prediction ended within the wait. With `stream: true`, the event stream described under GET /predictions/{prediction_id}/stream",
    headers: createdHeaders,
    // text/event-stream is left out: it would make the type of generated clients `PredictionWithIO | string`.
    content: { "application/json": { schema: predictionWithIO } },
  },
  202: {
    description: "The prediction has not ended. Poll its `url`",
    headers: createdHeaders,
    content: { "application/json": { schema: predictionWithIO, example: PENDING } },
  },
  ...errorResponses,
  402: problemResponse("A budget does not allow the prediction: `detail` says which"),
  409: problemResponse(
    "The `Idempotency-Key` was already used with a different request, or the account's storage is full: `detail` says what to do",
  ),
  429: problemResponse(
    "Too many requests, too many queued predictions for this hardware, or too many waiting requests",
  ),
  503: problemResponse("The prediction could not be created and will not run. Try again"),
};
