/** POST /v1/vendora/responses/input_tokens and /v1/vendora/responses/compact. */
import { createRoute } from "@hono/zod-openapi";
import { requireScopeToRun } from "../../middleware/authentication.ts";
import { limitWaitingRequest } from "../../middleware/concurrent-requests.ts";
import { modelInBody } from "../../middleware/named-model.ts";
import {
  addPredictionHeaders,
  callIn,
  resolveTarget,
  waitForEnd,
} from "../../middleware/openai.ts";
import { compactRequest, inputTokens, inputTokensRequest } from "../../protocol/openai/response.ts";
import {
  beginCompaction,
  beginInputCount,
  compacted,
  countAnswer,
  counted,
  estimatedInput,
  withInput,
} from "../../services/openai/input-tokens.ts";
import { jsonBody, jsonResponse } from "../responses.ts";
import { router } from "../router.ts";
import {
  body,
  bodyResponse,
  callErrors,
  callHeaders,
  callRoute,
  openAiErrorResponse,
  openAiJson,
  predictionHeaders,
  tags,
} from "./document.ts";

const errors = {
  ...callErrors,
  400: openAiErrorResponse(
    "A parameter is not supported, or the previous response or an item does not exist",
  ),
};

const count = createRoute({
  method: "post",
  path: "/vendora/responses/input_tokens",
  operationId: "countResponseInputTokens",
  tags,
  summary: "Count the input tokens of a response",
  description:
    "Returns the number of input tokens of a response, including the conversation before it. If the container can count tokens (`vendorb_messages`), it does so in a prediction that is kept for a minute. Otherwise the number is an estimate from the length of the request, and nothing runs. Requires the scope `predict`.",
  middleware: [
    requireScopeToRun(modelInBody),
    addPredictionHeaders,
    resolveTarget("responses"),
  ] as const,
  request: { headers: callHeaders, body: jsonBody(inputTokensRequest) },
  responses: { 200: jsonResponse("The number of tokens", inputTokens), ...errors },
});

const compaction = body("ResponseCompaction", "A compaction in the format of OpenAI's API");

const COMPACTION = {
  id: "resp_01980c3e7b0a7c5e9d523f6a1b2c4d5e",
  object: "response.compaction",
  created_at: 1_795_000_000,
  output: [
    {
      type: "compaction",
      id: "cmp_01980c3e7b0a7c5e9d523f6a1b2c4d5e",
      encrypted_content: "auspex-summary-1:VGhlIFF1ZWVuIHNpZ2hlZC4=",
    },
  ],
  usage: {
    input_tokens: 40,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: 5,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 45,
  },
};

const compact = callRoute("responses", compactRequest, {
  path: "/vendora/responses/compact",
  operationId: "compactResponse",
  summary: "Compact a conversation",
  description:
    "Summarizes a conversation with the model, and returns the summary as one item to send in place of the earlier items. It works with every model: `encrypted_content` is base64 text, not encrypted. Nothing is stored. Closing the connection cancels the request. Requires the scope `predict`.",
  responses: {
    200: {
      ...bodyResponse("The compacted conversation", compaction, COMPACTION),
      headers: predictionHeaders,
    },
    ...errors,
  },
});

export const responseContextRoutes = router();

responseContextRoutes.openapi(count, async (c) => {
  const { services, caller } = c.var;
  const call = callIn(c, c.req.valid("header"));
  const begin = async () => {
    const request = await withInput(services, caller, c.req.valid("json"));
    const begun = await beginInputCount(services, caller, request, call);
    return begun ?? estimatedInput(request);
  };
  return limitWaitingRequest(c, async () => {
    const begun = await begin();
    if ("input_tokens" in begun) return c.json(begun, 200);
    c.set("predictionId", begun.id);
    const { input_tokens } = countAnswer(services, await waitForEnd(c, begun));
    return c.json(counted(input_tokens), 200);
  });
});

responseContextRoutes.openapi(compact, async (c) => {
  const { services, caller } = c.var;
  const call = callIn(c, c.req.valid("header"));
  return limitWaitingRequest(c, async () => {
    const begun = await beginCompaction(services, caller, c.req.valid("json"), call);
    c.set("predictionId", begun.id);
    return openAiJson(compacted(services, await waitForEnd(c, begun)));
  });
});
