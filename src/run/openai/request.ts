/**
 * The request for an OpenAI-compatible server, made from the caller's; and the model's name in both
 * directions.
 */

import { withImageData } from "../../domain/anthropic/image-sources.ts";
import { plainMessages } from "../../domain/anthropic/plain-blocks.ts";
import { strictResponse } from "../../domain/openai/response-messages.ts";
import { knownEffort, strictChat, withoutDependents } from "../../domain/openai/strict-chat.ts";
import { fieldsOf } from "../../lib/fields.ts";
import { isObject } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import type { OpenAiCall } from "../../protocol/runner.ts";
import { isImageCall } from "../run-reporter.ts";

export const PATHS: Record<OpenAiCall, string> = {
  chat_completions: "/v1/chat/completions",
  responses: "/v1/responses",
  embeddings: "/v1/embeddings",
  messages: "/v1/messages",
  count_tokens: "/v1/messages/count_tokens",
  images_generations: "/v1/images/generations",
  images_edits: "/v1/images/edits",
  audio_transcriptions: "/v1/audio/transcriptions",
  audio_translations: "/v1/audio/translations",
  audio_speech: "/v1/audio/speech",
  completions: "/v1/completions",
  moderations: "/v1/moderations",
  rerank: "/v1/rerank",
};

type Body = Record<string, Json>;

/**
 * `model`: the server's name for it; undefined keeps the caller's.
 * @throws NotSupportedByChat
 */
export function requestBody(call: OpenAiCall, input: Body, model: string | undefined): Body {
  const named = model === undefined ? input : { ...input, model };
  switch (call) {
    case "responses":
      return strictResponse(withoutStorage(named));
    case "messages":
    case "count_tokens": {
      const { request } = plainMessages(named);
      const { output_config } = request;
      const { effort } = fieldsOf(output_config);
      return withoutDependents({
        ...request,
        messages: withImageData(request.messages ?? []),
        ...(effort != null && {
          output_config: { ...fieldsOf(output_config), effort: knownEffort(effort) },
        }),
      });
    }
    case "chat_completions":
      return strictChat(input.stream === true ? withUsage(named) : named);
    case "completions":
      return input.stream === true ? withUsage(named) : withoutDependents(named);
    default:
      // The address of an image would be one inside the container. Streams have no addresses.
      return isImageCall(call) && input.stream !== true
        ? { ...named, response_format: "b64_json" }
        : named;
  }
}

/** Always requests the usage, which is how tokens are counted. */
function withUsage(body: Body): Body {
  const { stream_options: streamOptions } = body;
  const options = isObject(streamOptions) ? streamOptions : {};
  return { ...body, stream_options: { ...options, include_usage: true } };
}

/**
 * The service stores responses and has resolved earlier ones into the input: the server needs
 * neither.
 */
function withoutStorage(body: Body): Body {
  const { previous_response_id: _, conversation: __, background, ...rest } = body;
  return { ...rest, store: false, stream: body.stream === true || background === true };
}

/** Sets the model name that callers know. Changes its argument, since there are many. */
export function withModelName(answer: Record<string, Json>, model: string): Record<string, Json> {
  if ("model" in answer) answer.model = model;
  const { response, message } = answer;
  for (const part of [response, message]) {
    if (isObject(part) && "model" in part) part.model = model;
  }
  return answer;
}
