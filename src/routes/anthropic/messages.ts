/**
 * POST /v1/vendorb/messages and /v1/vendorb/messages/count_tokens. `vendorb` is the contract's name for
 * Anthropic's API, whose requests and responses these calls use.
 */

import { createRoute } from "@hono/zod-openapi";
import { requireScopeToRun } from "../../middleware/authentication.ts";
import { takesImages } from "../../middleware/body.ts";
import { limitOpenStream, limitWaitingRequest } from "../../middleware/concurrent-requests.ts";
import { modelInBody } from "../../middleware/named-model.ts";
import {
  addPredictionHeaders,
  callIn,
  noteBegun,
  resolveTarget,
  waitForEnd,
} from "../../middleware/openai.ts";
import { countRequest, messageRequest, tokenCount } from "../../protocol/anthropic.ts";
import { beginMessage, messageAnswer, messageStream } from "../../services/anthropic/messages.ts";
import {
  beginCount,
  countAnswer,
  countsItself,
  estimatedCount,
} from "../../services/openai/input-tokens.ts";
import { exactLog } from "../../services/openai/log-reader.ts";
import {
  body,
  callHeaders,
  callResponse,
  openAiEvents,
  openAiJson,
  responseHeaders,
} from "../openai/document.ts";
import { jsonBody, jsonResponse } from "../responses.ts";
import { router } from "../router.ts";
import { callErrors, tags } from "./document.ts";

const message = body("Message", "A message in the format of Anthropic's API");

const MESSAGE = {
  id: "msg_01980c3e7b0a7c5e9d523f6a1b2c4d5e",
  type: "message",
  role: "assistant",
  model: "demo/chat",
  content: [{ type: "text", text: "The Queen sighed." }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 4, output_tokens: 5 },
};

const EVENTS = `event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"The"}}

`;

const create = createRoute({
  method: "post",
  path: "/vendorb/messages",
  operationId: "createMessage",
  tags,
  summary: "Create a message",
  description:
    "Creates a message in the format of Anthropic's API. The version must have the compatibility `vendorb_messages` or `vendora_chat_completions`. If the container has its own `/v1/messages`, it receives the request almost unchanged. Otherwise the request is translated to a chat, tools included. Tools that only Anthropic's service or models have are removed unless the version's input schema includes them; if `tool_choice` requires one, you get 400. Closing the connection cancels the request. Requires the scope `predict`.",
  middleware: [
    takesImages,
    requireScopeToRun(modelInBody),
    addPredictionHeaders,
    resolveTarget("messages"),
  ] as const,
  request: { headers: callHeaders, body: jsonBody(messageRequest) },
  responses: {
    200: callResponse(
      "The message, or a stream of its events",
      message,
      MESSAGE,
      EVENTS,
      responseHeaders,
    ),
    ...callErrors,
  },
});

const count = createRoute({
  method: "post",
  path: "/vendorb/messages/count_tokens",
  operationId: "countMessageTokens",
  tags,
  summary: "Count the tokens of a message",
  description:
    "Returns the number of input tokens of a message. If the container has its own `/v1/messages`, it counts them in a prediction that is kept for a minute. Otherwise the number is an estimate from the length of the request, and nothing runs. Requires the scope `predict`.",
  middleware: [
    requireScopeToRun(modelInBody),
    addPredictionHeaders,
    resolveTarget("count_tokens"),
  ] as const,
  request: { headers: callHeaders, body: jsonBody(countRequest) },
  responses: { 200: jsonResponse("The number of tokens", tokenCount), ...callErrors },
});

export const messageRoutes = router();

messageRoutes.openapi(create, async (c) => {
  const { services, caller } = c.var;
  const { stream } = c.req.valid("json");
  const headers = c.req.valid("header");
  const begin = () => {
    const { webhook, ...body } = c.req.valid("json");
    return beginMessage(services, caller, {
      ...callIn(c, headers),
      call: "messages",
      body,
      webhook,
    });
  };
  const beginning = async () => noteBegun(c, await begin());
  if (stream)
    return openAiEvents(
      await limitOpenStream(c, async () => messageStream(services, await beginning())),
    );
  return limitWaitingRequest(c, async () =>
    openAiJson(messageAnswer(services, await waitForEnd(c, await beginning(), exactLog))),
  );
});

messageRoutes.openapi(count, async (c) => {
  const { services, caller, target } = c.var;
  if (!countsItself(target)) return c.json(estimatedCount(c.req.valid("json")), 200);
  const headers = c.req.valid("header");
  const begin = () => {
    const call = { ...callIn(c, headers), call: "count_tokens", webhook: null } as const;
    return beginCount(services, caller, { ...call, body: c.req.valid("json") });
  };
  return limitWaitingRequest(c, async () => {
    const begun = await begin();
    c.set("predictionId", begun.id);
    return c.json(countAnswer(services, await waitForEnd(c, begun)), 200);
  });
});
