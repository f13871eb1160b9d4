/** /v1/vendora/responses. */
import { createRoute, z } from "@hono/zod-openapi";
import { requireScope, requireValidToken } from "../../middleware/authentication.ts";
import { limitOpenStream, limitWaitingRequest } from "../../middleware/concurrent-requests.ts";
import { callIn, noteBegun, waitForEnd } from "../../middleware/openai.ts";
import { itemsQuery, responseQuery, responseRequest } from "../../protocol/openai/response.ts";
import { keepConversationItems } from "../../services/openai/conversation-updates.ts";
import {
  beginResponse,
  begunResponse,
  endedResponse,
  preparedResponse,
  responseStream,
} from "../../services/openai/create-response.ts";
import { exactLog } from "../../services/openai/log-reader.ts";
import {
  cancelResponse,
  deleteResponse,
  findResponse,
  listInputItems,
  presentResponse,
  replayResponse,
} from "../../services/openai/responses.ts";
import { socketContextOf } from "../../services/openai/socket-context.ts";
import { router } from "../router.ts";
import {
  body,
  bodyResponse,
  callErrors,
  callResponse,
  callRoute,
  ITEMS,
  items,
  openAiErrorResponse,
  openAiErrors,
  openAiEvents,
  openAiJson,
  responseHeaders,
  tags,
} from "./document.ts";

const RESPONSE = {
  id: "resp_01980c3e7b0a7c5e9d523f6a1b2c4d5e",
  object: "response",
  created_at: 1_795_000_000,
  status: "completed",
  model: "demo/chat",
  output: [
    {
      id: "msg_01980c3e7b0a7c5e9d523f6a1b2c4d5e",
      type: "message",
      status: "completed",
      role: "assistant",
      content: [{ type: "output_text", text: "The Queen sighed.", annotations: [], logprobs: [] }],
    },
  ],
};

const QUEUED = { ...RESPONSE, status: "queued", output: [] };

const response = body("Response", "A response in the format of OpenAI's API");

const deleted = z
  .object({ id: z.string(), object: z.literal("response"), deleted: z.literal(true) })
  .meta({ id: "DeletedResponse" });

const EVENTS = `event: response.output_text.delta
data: {"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"The","logprobs":[]}

`;

const oneResponse = z.object({
  response_id: z
    .string()
    .max(100)
    .meta({ description: "ID of the response, `resp_…`", example: RESPONSE.id }),
});

const badRequest = (description: string) => ({ 400: openAiErrorResponse(description) });

const create = callRoute("responses", responseRequest, {
  path: "/vendora/responses",
  operationId: "createResponse",
  summary: "Create a response",
  description:
    "Creates a response in the format of OpenAI's API. The version must have the compatibility `vendora_responses` or `vendora_chat_completions`. The request is translated to a chat unless the container's own `/v1/responses` is at least as capable. Functions, namespaces and custom tools are passed to the container as functions, and calls are returned in the form you sent. Other tools are removed unless the version's input schema includes them; if `tool_choice` requires one, you get 400. With `background`, the call returns 202 immediately and the response continues without the connection: poll it, or stream it later. Otherwise, closing the connection cancels it. Requires the scope `predict`.",
  responses: {
    200: callResponse(
      "The response, or a stream of its events",
      response,
      RESPONSE,
      EVENTS,
      responseHeaders,
    ),
    202: {
      ...bodyResponse("The response continues in the background", response, QUEUED),
      headers: responseHeaders,
    },
    ...callErrors,
    ...badRequest("A parameter is not supported, or the previous response does not exist"),
  },
});

const get = createRoute({
  method: "get",
  path: "/vendora/responses/{response_id}",
  operationId: "getResponse",
  tags,
  summary: "Get a response",
  description:
    "Returns the current state of a response. With `stream`, returns its events after `starting_after` and continues with new ones. Requires the scope `read` or `predict`.",
  middleware: requireScope("read", "predict"),
  request: { params: oneResponse, query: responseQuery },
  responses: {
    200: callResponse("The response, or a stream of its events", response, RESPONSE, EVENTS),
    ...openAiErrors,
  },
});

const inputItems = createRoute({
  method: "get",
  path: "/vendora/responses/{response_id}/input_items",
  operationId: "listResponseInputItems",
  tags,
  summary: "List a response's input items",
  description:
    "Lists the whole input of the model. If the response continues another one, this is the whole conversation. Requires the scope `read` or `predict`.",
  middleware: requireScope("read", "predict"),
  request: { params: oneResponse, query: itemsQuery },
  responses: {
    200: bodyResponse("The input items", items, ITEMS),
    ...openAiErrors,
    ...badRequest("The item in `after` does not exist"),
  },
});

const cancel = createRoute({
  method: "post",
  path: "/vendora/responses/{response_id}/cancel",
  operationId: "cancelResponse",
  tags,
  summary: "Cancel a background response",
  description: "You can repeat the request. Requires the scope `predict`.",
  middleware: requireScope("predict"),
  request: { params: oneResponse },
  responses: {
    200: bodyResponse("The response", response, RESPONSE),
    ...openAiErrors,
    ...badRequest("The response is not in the background, or has ended"),
  },
});

const remove = createRoute({
  method: "delete",
  path: "/vendora/responses/{response_id}",
  operationId: "deleteResponse",
  tags,
  summary: "Delete a response",
  description:
    "Deletes a response with its events and input. The prediction is kept, with `data_removed`. Requires the scope `predict`.",
  middleware: requireScope("predict"),
  request: { params: oneResponse },
  responses: {
    200: bodyResponse("Deleted", deleted, {
      id: RESPONSE.id,
      object: "response",
      deleted: true,
    }),
    ...openAiErrors,
    ...badRequest("The response has not ended. Cancel it first"),
  },
});

export const responseRoutes = router();

responseRoutes.openapi(create, async (c) => {
  const { services, caller, target } = c.var;
  const { stream, background, generate } = c.req.valid("json");
  const headers = c.req.valid("header");
  const socket = socketContextOf(c.req.raw);
  if (generate === false) {
    const request = c.req.valid("json");
    return openAiEvents({
      body: await preparedResponse(services, caller, request, { target, socket }),
    });
  }
  const begin = () => {
    const { webhook, ...request } = c.req.valid("json");
    return beginResponse(services, caller, request, { ...callIn(c, headers), webhook, socket });
  };
  const beginning = async () => noteBegun(c, await begin());
  if (stream)
    return openAiEvents(
      await limitOpenStream(c, async () => responseStream(services, await beginning())),
    );
  if (background) {
    return Response.json(await begunResponse(services, await beginning()), { status: 202 });
  }
  return limitWaitingRequest(c, async () => {
    const begun = await beginning();
    return openAiJson(await endedResponse(services, begun, waitForEnd(c, begun, exactLog)));
  });
});

responseRoutes.openapi(get, async (c) => {
  const { services, caller } = c.var;
  const { stream, starting_after } = c.req.valid("query");
  const found = await findResponse(services, caller, c.req.valid("param").response_id);
  if (stream) {
    return openAiEvents(
      await limitOpenStream(c, async () => replayResponse(services, found, starting_after)),
    );
  }
  return openAiJson(presentResponse(found));
});

responseRoutes.openapi(inputItems, async (c) => {
  const { services, caller } = c.var;
  const found = await findResponse(services, caller, c.req.valid("param").response_id);
  return openAiJson(listInputItems(found, c.req.valid("query")));
});

responseRoutes.openapi(cancel, async (c) => {
  const { services, caller } = c.var;
  const found = await findResponse(services, caller, c.req.valid("param").response_id);
  const canceled = await cancelResponse(services, caller, found);
  await requireValidToken(c);
  return openAiJson(canceled);
});

responseRoutes.openapi(remove, async (c) => {
  const { services, caller } = c.var;
  const found = await findResponse(services, caller, c.req.valid("param").response_id);
  await keepConversationItems(services, caller, found.prediction.id);
  return c.json(await deleteResponse(services, caller, found), 200);
});
