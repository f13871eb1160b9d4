/** POST /v1/vendora/completions. */
import { createRoute } from "@hono/zod-openapi";
import { requireScopeToRun } from "../../middleware/authentication.ts";
import { takesDataUris } from "../../middleware/body.ts";
import { limitOpenStream, limitWaitingRequest } from "../../middleware/concurrent-requests.ts";
import { modelInBody } from "../../middleware/named-model.ts";
import { addPredictionHeaders, resolveTarget } from "../../middleware/openai.ts";
import { completionRequest } from "../../protocol/openai/chat.ts";
import { waitForCall } from "../../services/openai/calls.ts";
import { answerStream, COMPLETION_ANSWERS, wholeAnswer } from "../../services/openai/choices.ts";
import { completionBody } from "../../services/openai/completion-body.ts";
import { exactLog } from "../../services/openai/parsed-log.ts";
import { jsonBody } from "../responses.ts";
import { router } from "../router.ts";
import { begin } from "./begin.ts";
import {
  body,
  callHeaders,
  callResponse,
  compatibleErrors,
  openAiEvents,
  openAiJson,
  tags,
} from "./document.ts";

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

const complete = createRoute({
  method: "post",
  path: "/vendora/completions",
  operationId: "createCompletion",
  tags,
  summary: "Create a completion",
  description:
    "Continues a prompt, in the format of OpenAI's API, with a version that has the compatibility `vendora_completions`. All fields are passed to the container. A model behind the Cog interface takes one prompt at a time. Closing the connection cancels the request. Requires the scope `predict`.",
  middleware: [
    takesDataUris,
    requireScopeToRun(modelInBody),
    addPredictionHeaders,
    resolveTarget("completions"),
  ] as const,
  request: { headers: callHeaders, body: jsonBody(completionRequest) },
  responses: {
    200: callResponse("The completion, or a stream of chunks", completion, COMPLETION, CHUNKS),
    ...compatibleErrors,
  },
});

export const completionRoutes = router();

completionRoutes.openapi(complete, async (c) => {
  const { services, target } = c.var;
  const headers = c.req.valid("header");
  const { stream, stream_options } = c.req.valid("json");
  const includeUsage = stream_options?.include_usage === true;
  const beginning = () => {
    const { webhook, ...request } = c.req.valid("json");
    return begin(c, "completions", completionBody(target, request), webhook, headers);
  };
  if (stream)
    return openAiEvents(
      await limitOpenStream(c, async () =>
        answerStream(services, COMPLETION_ANSWERS, await beginning(), includeUsage),
      ),
    );
  return limitWaitingRequest(c, async () => {
    const ended = await waitForCall(services, await beginning(), exactLog);
    return openAiJson(wholeAnswer(services, COMPLETION_ANSWERS, ended));
  });
});
