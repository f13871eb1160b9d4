/** POST /v1/vendora/audio/speech. */
import { z } from "@hono/zod-openapi";
import { speechInput } from "../../domain/openai/speech.ts";
import { rootKeywords } from "../../domain/schemas/version-schemas.ts";
import { limitOpenStream } from "../../middleware/concurrent-requests.ts";
import { begin } from "../../middleware/openai.ts";
import { speechRequest } from "../../protocol/openai/audio.ts";
import { modelInput } from "../../services/openai/model-input.ts";
import { speechStream } from "../../services/openai/speech.ts";
import { router } from "../router.ts";
import { callRoute, compatibleErrors, predictionHeaders } from "./document.ts";

const EVENTS = `data: {"type":"speech.audio.delta","audio":"UklGRiQAAABXQVZF"}

data: {"type":"speech.audio.done","usage":{"input_tokens":6,"output_tokens":0,"total_tokens":6}}

`;

const speak = callRoute("audio_speech", speechRequest, {
  path: "/vendora/audio/speech",
  operationId: "createSpeech",
  summary: "Create speech",
  description:
    "Generates speech from text in the format of OpenAI's API. The version must have the compatibility `vendora_audio_speech`. Audio is streamed as the model generates it, as bytes or, with `stream_format: sse`, as events. Servers receive all fields. For Cog models, they become inputs of the schema; a `response_format` that the model cannot produce returns 400, because audio is not converted. By default, you get the model's own format. Closing the connection cancels the request. Requires the scope `predict`.",
  responses: {
    200: {
      description: "The audio, or a stream of events",
      headers: predictionHeaders,
      content: {
        "*/*": { schema: z.string().meta({ format: "binary" }) },
        "text/event-stream": { schema: z.string(), example: EVENTS },
      },
    },
    ...compatibleErrors,
  },
});

export const speechRoutes = router();

speechRoutes.openapi(speak, async (c) => {
  const { services, target } = c.var;
  const { schemas } = target.version;
  const headers = c.req.valid("header");
  const { response_format, stream_format } = c.req.valid("json");
  const beginning = () => {
    const { webhook, ...request } = c.req.valid("json");
    const input = modelInput(target, request, (schema) => speechInput(request, schema));
    const more = { ...input, streams: true };
    return begin(c, "audio_speech", request, webhook, headers, more);
  };
  const inParts = rootKeywords(schemas, "output").type === "array";
  const { signal } = c.req.raw;
  const stream = await limitOpenStream(c, async () => {
    const begun = await beginning();
    const options = { response_format, stream_format, inParts, signal };
    return speechStream(services, begun, options);
  });
  return new Response(stream.body, {
    headers: { "content-type": stream.contentType, "cache-control": "no-cache" },
  });
});
