/** /v1/vendorb/models. */
import { createRoute } from "@hono/zod-openapi";
import { requireScope } from "../../middleware/authentication.ts";
import { anthropicModel, anthropicModels, anthropicModelsQuery } from "../../protocol/anthropic.ts";
import { encodedModel, oneModel } from "../../protocol/model.ts";
import { listAnthropicModels, readAnthropicModel } from "../../services/anthropic/models.ts";
import { jsonResponse } from "../responses.ts";
import { router } from "../router.ts";
import { anthropicErrorResponse, anthropicErrors, tags } from "./document.ts";

const list = createRoute({
  method: "get",
  path: "/vendorb/models",
  operationId: "listVendorbModels",
  tags,
  summary: "List messages models",
  description:
    "Lists up to 1,000 models that the token can run and whose default version supports messages: your own first, then shared and public ones, each newest first. A version that awaits its first start is listed once it is ready. Requires the scope `read` or `predict`.",
  middleware: requireScope("read", "predict"),
  request: { query: anthropicModelsQuery },
  responses: {
    200: jsonResponse("Models", anthropicModels),
    ...anthropicErrors,
    400: anthropicErrorResponse("The model in `after_id` or `before_id` was not found"),
  },
});

const get = createRoute({
  method: "get",
  path: "/vendorb/models/{model_owner}/{model_name}",
  operationId: "getVendorbModel",
  tags,
  summary: "Get a messages model",
  description: "Requires the scope `read` or `predict`.",
  middleware: requireScope("read", "predict"),
  request: { params: oneModel },
  responses: { 200: jsonResponse("The model", anthropicModel), ...anthropicErrors },
});

const getEncoded = createRoute({
  method: "get",
  path: "/vendorb/models/{model}",
  operationId: "getVendorbModelByReference",
  tags,
  summary: "Get a messages model by reference",
  description:
    "For clients that encode the name as `owner%2Fname`, such as the official ones. Requires the scope `read` or `predict`.",
  middleware: requireScope("read", "predict"),
  request: { params: encodedModel },
  responses: { 200: jsonResponse("The model", anthropicModel), ...anthropicErrors },
});

export const anthropicModelRoutes = router();

anthropicModelRoutes.openapi(list, async (c) => {
  const { services, caller } = c.var;
  return c.json(await listAnthropicModels(services, caller, c.req.valid("query")), 200);
});

anthropicModelRoutes.openapi(get, async (c) => {
  const { model_owner, model_name } = c.req.valid("param");
  const reference = `${model_owner}/${model_name}`;
  return c.json(await readAnthropicModel(c.var.services, c.var.caller, reference), 200);
});

anthropicModelRoutes.openapi(getEncoded, async (c) => {
  const { model } = c.req.valid("param");
  return c.json(await readAnthropicModel(c.var.services, c.var.caller, model), 200);
});
