/**
 * POST /v1/vendora/chat/completions, completions and embeddings. `vendora` is the contract's name for OpenAI's
 * API, whose requests and responses these calls use.
 */
import type { Context } from "hono";
import type { AppEnv } from "../../context.ts";
import { limitOpenStream, limitWaitingRequest } from "../../middleware/concurrent-requests.ts";
import { begin, waitForEnd } from "../../middleware/openai.ts";
import { chatRequest, completionRequest } from "../../protocol/openai/chat.ts";
import { embeddingRequest } from "../../protocol/openai/tasks.ts";
import type { BegunCall } from "../../services/openai/calls.ts";
import {
  type Answers,
  answerStream,
  CHAT_ANSWERS,
  COMPLETION_ANSWERS,
  completionBody,
  embeddingList,
  wholeAnswer,
} from "../../services/openai/choices.ts";
import { exactLog } from "../../services/openai/log-reader.ts";
import { router } from "../router.ts";
import {
  body,
  bodyResponse,
  callResponse,
  callRoute,
  compatibleErrors,
  openAiEvents,
  openAiJson,
  predictionHeaders,
} from "./document.ts";

const chatCompletion = body("ChatCompletion", "A chat completion in the format of OpenAI's API");

const CHAT_COMPLETION = {
  id: "chatcmpl-01980c3e7b0a7c5e9d523f6a1b2c4d5e",
  object: "chat.completion",
  created: 1_795_000_000,
  model: "demo/chat",
  choices: [
    {
      index: 0,
      message: { role: "assistant", content: "The Queen sighed.", refusal: null },
      logprobs: null,
      finish_reason: "stop",
    },
  ],
  usage: { prompt_tokens: 4, completion_tokens: 5, total_tokens: 9 },
};

const CHAT_CHUNKS = `data: {"id":"chatcmpl-01980c3e7b0a7c5e9d523f6a1b2c4d5e","object":"chat.completion.chunk","created":1795000000,"model":"demo/chat","choices":[{"index":0,"delta":{"role":"assistant","content":"The"},"finish_reason":null}]}

data: [DONE]

`;

const chat = callRoute("chat_completions", chatRequest, {
  path: "/vendora/chat/completions",
  operationId: "createChatCompletion",
  summary: "Create a chat completion",
  description:
    "Creates a chat completion in the format of OpenAI's API. The version must have the compatibility `vendora_chat_completions`. All fields are passed to the container. Closing the connection cancels the request. Requires the scope `predict`.",
  responses: {
    200: callResponse(
      "The completion, or a stream of chunks",
      chatCompletion,
      CHAT_COMPLETION,
      CHAT_CHUNKS,
    ),
    ...compatibleErrors,
  },
});

const completion = body("Completion", "A completion in the format of OpenAI's API");

const COMPLETION = {
  id: "cmpl-01980c3e7b0a7c5e9d523f6a1b2c4d5e",
  object: "text_completion",
  created: 1_795_000_000,
  model: "demo/text-generation",
  choices: [{ index: 0, text: " very wide.", logprobs: null, finish_reason: "stop" }],
  usage: { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 },
};

const CHUNKS = `data: {"id":"cmpl-01980c3e7b0a7c5e9d523f6a1b2c4d5e","object":"text_completion","created":1795000000,"model":"demo/text-generation","choices":[{"index":0,"text":" very","logprobs":null,"finish_reason":null}]}

data: [DONE]

`;

const complete = callRoute("completions", completionRequest, {
  path: "/vendora/completions",
  operationId: "createCompletion",
  summary: "Create a completion",
  description:
    "Continues a prompt in the format of OpenAI's API. The version must have the compatibility `vendora_completions`. All fields are passed to the container. Cog models take one prompt per request. Closing the connection cancels the request. Requires the scope `predict`.",
  responses: {
    200: callResponse("The completion, or a stream of chunks", completion, COMPLETION, CHUNKS),
    ...compatibleErrors,
  },
});

const embeddings = body("EmbeddingList", "Embeddings in the format of OpenAI's API");

const EMBEDDINGS = {
  object: "list",
  data: [{ object: "embedding", index: 0, embedding: [0.6, -0.8] }],
  model: "demo/embeddings",
  usage: { prompt_tokens: 4, total_tokens: 4 },
};

const embed = callRoute("embeddings", embeddingRequest, {
  path: "/vendora/embeddings",
  operationId: "createEmbeddings",
  summary: "Create embeddings",
  description:
    "Creates embeddings in the format of OpenAI's API. The version must have the compatibility `vendora_embeddings`. `encoding_format: base64` is always little-endian float32. Closing the connection cancels the request. Requires the scope `predict`.",
  responses: {
    200: {
      ...bodyResponse("One embedding per input", embeddings, EMBEDDINGS),
      headers: predictionHeaders,
    },
    ...compatibleErrors,
  },
});

export const callRoutes = router();

callRoutes.openapi(chat, (c) => {
  const { stream, stream_options } = c.req.valid("json");
  const headers = c.req.valid("header");
  const asked = { stream, includeUsage: stream_options?.include_usage === true };
  return answer(c, CHAT_ANSWERS, asked, () => {
    const { webhook, ...request } = c.req.valid("json");
    return begin(c, "chat_completions", request, webhook, headers);
  });
});

callRoutes.openapi(complete, (c) => {
  const { stream, stream_options } = c.req.valid("json");
  const headers = c.req.valid("header");
  const asked = { stream, includeUsage: stream_options?.include_usage === true };
  return answer(c, COMPLETION_ANSWERS, asked, () => {
    const { webhook, ...request } = c.req.valid("json");
    return begin(c, "completions", completionBody(c.var.target, request), webhook, headers);
  });
});

/** Returns the whole completion, or a stream of its chunks. */
async function answer<Choice extends { index: number }, Piece>(
  c: Context<AppEnv>,
  answers: Answers<Choice, Piece>,
  { stream, includeUsage }: { stream: boolean | null | undefined; includeUsage: boolean },
  beginning: () => Promise<BegunCall>,
) {
  const { services } = c.var;
  if (stream)
    return openAiEvents(
      await limitOpenStream(c, async () =>
        answerStream(services, answers, await beginning(), includeUsage),
      ),
    );
  return limitWaitingRequest(c, async () => {
    const ended = await waitForEnd(c, await beginning(), exactLog);
    return openAiJson(wholeAnswer(services, answers, ended));
  });
}

callRoutes.openapi(embed, async (c) => {
  const { services } = c.var;
  const { model, encoding_format } = c.req.valid("json");
  const asked = { model, encoding_format };
  const beginning = () => {
    const { webhook, ...request } = c.req.valid("json");
    return begin(c, "embeddings", request, webhook, c.req.valid("header"));
  };
  return limitWaitingRequest(c, async () => {
    // Base64 has no digits to keep, and parsing a million numbers exactly takes a second longer.
    const parse = encoding_format === "base64" ? undefined : exactLog;
    const ended = await waitForEnd(c, await beginning(), parse);
    return openAiJson(embeddingList(services, asked, ended));
  });
});
