/** /v1/vendora/conversations. */
import { createRoute } from "@hono/zod-openapi";
import { requireScope, requireScopeToPredict } from "../../middleware/authentication.ts";
import {
  CONVERSATION_EXAMPLE,
  conversation,
  conversationUpdate,
  deletedConversation,
  newConversation,
  newItems,
  oneConversation,
  oneItem,
} from "../../protocol/openai/conversation.ts";
import { itemsQuery } from "../../protocol/openai/response.ts";
import {
  addItems,
  createConversation,
  deleteConversation,
  deleteItem,
  listItems,
  readConversation,
  readItem,
  updateConversation,
} from "../../services/openai/conversations.ts";
import { jsonBody } from "../responses.ts";
import { router } from "../router.ts";
import {
  body,
  bodyResponse,
  ITEM,
  ITEMS,
  items,
  openAiErrorResponse,
  openAiErrors,
  openAiJson,
  tags,
} from "./document.ts";

const item = body("ConversationItem", "An item in the format of OpenAI's API");

const aConversation = bodyResponse("The conversation", conversation, CONVERSATION_EXAMPLE);
const badRequest = (description: string) => ({ 400: openAiErrorResponse(description) });

const reading = { tags, middleware: requireScope("read", "predict") };
const writing = { tags, middleware: requireScopeToPredict };

const create = createRoute({
  ...writing,
  method: "post",
  path: "/vendora/conversations",
  operationId: "createConversation",
  summary: "Create a conversation",
  description:
    "Creates a conversation. A response with `conversation` receives the conversation's items before its own input; its input and output are added when it ends. Unused conversations are deleted after the retention period of predictions. Requires the scope `predict`.",
  request: { body: jsonBody(newConversation) },
  responses: {
    200: aConversation,
    ...openAiErrors,
    ...badRequest("An item that `items` references does not exist"),
    409: openAiErrorResponse("Your account has the maximum number of conversations"),
  },
});

const get = createRoute({
  ...reading,
  method: "get",
  path: "/vendora/conversations/{conversation_id}",
  operationId: "getConversation",
  summary: "Get a conversation",
  description: "Requires the scope `read` or `predict`.",
  request: { params: oneConversation },
  responses: { 200: aConversation, ...openAiErrors },
});

const update = createRoute({
  ...writing,
  method: "post",
  path: "/vendora/conversations/{conversation_id}",
  operationId: "updateConversation",
  summary: "Update a conversation",
  description: "Replaces the metadata. Requires the scope `predict`.",
  request: { params: oneConversation, body: jsonBody(conversationUpdate) },
  responses: { 200: aConversation, ...openAiErrors },
});

const remove = createRoute({
  ...writing,
  method: "delete",
  path: "/vendora/conversations/{conversation_id}",
  operationId: "deleteConversation",
  summary: "Delete a conversation",
  description:
    "Deletes a conversation and its items. Its responses are kept. Requires the scope `predict`.",
  request: { params: oneConversation },
  responses: {
    200: bodyResponse("Deleted", deletedConversation, {
      id: CONVERSATION_EXAMPLE.id,
      object: "conversation.deleted",
      deleted: true,
    }),
    ...openAiErrors,
  },
});

const add = createRoute({
  ...writing,
  method: "post",
  path: "/vendora/conversations/{conversation_id}/items",
  operationId: "createConversationItems",
  summary: "Add items to a conversation",
  description: "Adds up to 20 items at the end. Requires the scope `predict`.",
  request: { params: oneConversation, body: jsonBody(newItems) },
  responses: {
    200: bodyResponse("The added items", items, ITEMS),
    ...openAiErrors,
    ...badRequest("The item already exists, or the conversation would be too long"),
  },
});

const list = createRoute({
  ...reading,
  method: "get",
  path: "/vendora/conversations/{conversation_id}/items",
  operationId: "listConversationItems",
  summary: "List a conversation's items",
  description:
    "Items of a response appear once it has ended. If items are large, a page can have fewer than `limit`. Requires the scope `read` or `predict`.",
  request: { params: oneConversation, query: itemsQuery },
  responses: {
    200: bodyResponse("The items", items, ITEMS),
    ...openAiErrors,
    ...badRequest("The item in `after` does not exist"),
  },
});

const getOne = createRoute({
  ...reading,
  method: "get",
  path: "/vendora/conversations/{conversation_id}/items/{item_id}",
  operationId: "getConversationItem",
  summary: "Get an item of a conversation",
  description: "Requires the scope `read` or `predict`.",
  request: { params: oneItem },
  responses: { 200: bodyResponse("The item", item, ITEM), ...openAiErrors },
});

const removeOne = createRoute({
  ...writing,
  method: "delete",
  path: "/vendora/conversations/{conversation_id}/items/{item_id}",
  operationId: "deleteConversationItem",
  summary: "Delete an item of a conversation",
  description: "Later responses no longer receive it. Requires the scope `predict`.",
  request: { params: oneItem },
  responses: { 200: aConversation, ...openAiErrors },
});

export const conversationRoutes = router();

conversationRoutes.openapi(create, async (c) => {
  const { services, caller } = c.var;
  return c.json(await createConversation(services, caller, c.req.valid("json")), 200);
});

conversationRoutes.openapi(get, async (c) => {
  const { services, caller } = c.var;
  const { conversation_id } = c.req.valid("param");
  return c.json(await readConversation(services, caller, conversation_id), 200);
});

conversationRoutes.openapi(update, async (c) => {
  const { services, caller } = c.var;
  const { conversation_id } = c.req.valid("param");
  const metadata = c.req.valid("json").metadata ?? {};
  return c.json(await updateConversation(services, caller, conversation_id, metadata), 200);
});

conversationRoutes.openapi(remove, async (c) => {
  const { services, caller } = c.var;
  const { conversation_id } = c.req.valid("param");
  return c.json(await deleteConversation(services, caller, conversation_id), 200);
});

conversationRoutes.openapi(add, async (c) => {
  const { services, caller } = c.var;
  const { conversation_id } = c.req.valid("param");
  const added = c.req.valid("json").items;
  return openAiJson(await addItems(services, caller, conversation_id, added));
});

conversationRoutes.openapi(list, async (c) => {
  const { services, caller } = c.var;
  const { conversation_id } = c.req.valid("param");
  return openAiJson(await listItems(services, caller, conversation_id, c.req.valid("query")));
});

conversationRoutes.openapi(getOne, async (c) => {
  const { services, caller } = c.var;
  const { conversation_id, item_id } = c.req.valid("param");
  return openAiJson(await readItem(services, caller, conversation_id, item_id));
});

conversationRoutes.openapi(removeOne, async (c) => {
  const { services, caller } = c.var;
  const { conversation_id, item_id } = c.req.valid("param");
  return c.json(await deleteItem(services, caller, conversation_id, item_id), 200);
});
