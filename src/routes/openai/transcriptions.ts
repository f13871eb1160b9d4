/** POST /v1/vendora/audio/transcriptions and /v1/vendora/audio/translations. */

import { createRoute, z } from "@hono/zod-openapi";
import type { Context, TypedResponse } from "hono";
import type { AppEnv } from "../../context.ts";
import { type HearingCall, hearingInput } from "../../domain/openai/transcription-input.ts";
import { requireScopeToRun } from "../../middleware/authentication.ts";
import { takesDataUris } from "../../middleware/body.ts";
import { limitOpenStream, limitWaitingRequest } from "../../middleware/concurrent-requests.ts";
import { takesForm } from "../../middleware/form-body.ts";
import { modelInBody } from "../../middleware/named-model.ts";
import { addPredictionHeaders, begin, resolveTarget, waitForEnd } from "../../middleware/openai.ts";
import {
  type TranscriptionRequest,
  transcriptionRequest,
  translationRequest,
} from "../../protocol/openai/audio.ts";
import { exactLog } from "../../services/openai/log-reader.ts";
import { modelInput } from "../../services/openai/model-input.ts";
import {
  checkFormat,
  transcription,
  transcriptionStream,
} from "../../services/openai/transcription.ts";
import { jsonBody } from "../responses.ts";
import { router } from "../router.ts";
import {
  body,
  callHeaders,
  callResponse,
  compatibleErrors,
  FILE,
  formContent,
  openAiEvents,
  openAiJson,
  TEXT,
  tags,
} from "./document.ts";

const transcript = body("Transcription", "A transcript in the format of OpenAI's API");

const TRANSCRIPT = {
  text: "all in the golden afternoon.",
  usage: { type: "duration", seconds: 3.1 },
};

const EVENTS = `data: {"type":"transcript.text.delta","delta":"all in the golden"}

data: {"type":"transcript.text.done","text":"all in the golden afternoon."}

`;

const PLAIN_TEXT = "text/plain; charset=utf-8";

const answersOf = (description: string) => {
  const { content, ...response } = callResponse(description, transcript, TRANSCRIPT, EVENTS);
  const { "application/json": json, "text/event-stream": events } = content;
  const whole = { "application/json": json, [PLAIN_TEXT]: { schema: z.string() } };
  return {
    whole: { ...response, content: whole },
    streamed: { ...response, content: { ...whole, "text/event-stream": events } },
  };
};

const form = formContent(["model", "file"], { model: TEXT, file: FILE });

const bodyOf = <Schema extends z.ZodType>(schema: Schema) => {
  const { content, ...rest } = jsonBody(schema);
  return { ...rest, content: { ...content, ...form } };
};

const transcribe = createRoute({
  method: "post",
  path: "/vendora/audio/transcriptions",
  operationId: "createTranscription",
  tags,
  summary: "Create a transcription",
  description:
    "Transcribes an audio file in the format of OpenAI's API. The version must have the compatibility `vendora_audio_transcriptions`. Servers receive all fields as a form. For Cog models, fields become inputs of the schema, and formats with timestamps require a model that returns them. In a JSON body, `file` is the URL of an upload. Closing the connection cancels the request. Requires the scope `predict`.",
  middleware: [
    takesDataUris,
    requireScopeToRun(modelInBody),
    takesForm("audio_transcriptions", transcriptionRequest),
    addPredictionHeaders,
    resolveTarget("audio_transcriptions"),
  ] as const,
  request: { headers: callHeaders, body: bodyOf(transcriptionRequest) },
  responses: {
    200: answersOf("The transcript, or a stream of its text").streamed,
    ...compatibleErrors,
  },
});

const translate = createRoute({
  method: "post",
  path: "/vendora/audio/translations",
  operationId: "createTranslation",
  tags,
  summary: "Create a translation",
  description:
    "Translates speech in an audio file to English text. The version must have the compatibility `vendora_audio_translations`. Works like transcriptions, without streaming.",
  middleware: [
    takesDataUris,
    requireScopeToRun(modelInBody),
    takesForm("audio_translations", translationRequest),
    addPredictionHeaders,
    resolveTarget("audio_translations"),
  ] as const,
  request: { headers: callHeaders, body: bodyOf(translationRequest) },
  responses: { 200: answersOf("The translation").whole, ...compatibleErrors },
});

export const transcriptionRoutes = router();

transcriptionRoutes.openapi(transcribe, async (c) => {
  const call = asked(c, "audio_transcriptions", () => c.req.valid("json"), c.req.valid("header"));
  if (!call.stream) return whole(c, call);
  const open = async () => transcriptionStream(c.var.services, await call.begin());
  return openAiEvents(await limitOpenStream(c, open));
});

transcriptionRoutes.openapi(translate, (c) =>
  whole(
    c,
    asked(c, "audio_translations", () => c.req.valid("json"), c.req.valid("header")),
  ),
);

/**
 * @param bodyIn reads the body from the request, which then releases it
 * @throws OpenAiProblem for a body that the model cannot serve
 */
function asked(
  c: Context<AppEnv>,
  call: HearingCall,
  bodyIn: () => TranscriptionRequest,
  headers: { "idempotency-key"?: string | undefined },
) {
  const { target } = c.var;
  const { stream, response_format, language, temperature, timestamp_granularities } = bodyIn();
  checkFormat(target, { stream, response_format });
  const options = { response_format, language, temperature, timestamp_granularities };
  const beginning = async () => {
    const { webhook, ...request } = bodyIn();
    const input = modelInput(target, request, (schema) => hearingInput(call, request, schema));
    return begin(c, call, request, webhook, headers, input);
  };
  return { call, stream, options, begin: beginning };
}

function whole(c: Context<AppEnv>, { call, options, begin: beginning }: ReturnType<typeof asked>) {
  const { services, target } = c.var;
  return limitWaitingRequest(c, async () => {
    const ended = await waitForEnd(c, await beginning(), exactLog);
    const answer = transcription(services, call, target, options, ended);
    return typeof answer === "string" ? plainText(answer) : openAiJson(answer);
  });
}

function plainText(text: string) {
  const response = new Response(text, { headers: { "content-type": PLAIN_TEXT } });
  return response as Response & TypedResponse<string, 200, "text">;
}
