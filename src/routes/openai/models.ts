/** /v1/vendora/models. */
import { createRoute } from "@hono/zod-openapi";
import { requireScope } from "../../middleware/authentication.ts";
import { encodedModel, oneModel } from "../../protocol/model.ts";
import { openAiModel, openAiModels } from "../../protocol/openai/error.ts";
import { listOpenAiModels, readOpenAiModel } from "../../services/openai/callable-models.ts";
import { jsonResponse } from "../responses.ts";
import { router } from "../router.ts";
import { openAiErrors, tags } from "./document.ts";

const list = createRoute({
  method: "get",
  path: "/vendora/models",
  operationId: "listVendoraModels",
  tags,
  summary: "List compatible models",
  description:
    "Lists up to 1,000 models that the token can run and whose default version supports these endpoints: your own first, then shared and public ones, each newest first. A version that awaits its first start is listed once it is ready. Requires the scope `read` or `predict`.",
  middleware: requireScope("read", "predict"),
  responses: { 200: jsonResponse("Models", openAiModels), ...openAiErrors },
});

const get = createRoute({
  method: "get",
  path: "/vendora/models/{model_owner}/{model_name}",
  operationId: "getVendoraModel",
  tags,
  summary: "Get a compatible model",
  description: "Requires the scope `read` or `predict`.",
  middleware: requireScope("read", "predict"),
  request: { params: oneModel },
  responses: { 200: jsonResponse("The model", openAiModel), ...openAiErrors },
});

const getEncoded = createRoute({
  method: "get",
  path: "/vendora/models/{model}",
  operationId: "getVendoraModelByReference",
  tags,
  summary: "Get a compatible model by reference",
  description:
    "For clients that encode the name as `owner%2Fname`, such as the official ones. Requires the scope `read` or `predict`.",
  middleware: requireScope("read", "predict"),
  request: { params: encodedModel },
  responses: { 200: jsonResponse("The model", openAiModel), ...openAiErrors },
});

export const openAiModelRoutes = router();

openAiModelRoutes.openapi(list, async (c) =>
  c.json(await listOpenAiModels(c.var.services, c.var.caller), 200),
);

openAiModelRoutes.openapi(get, async (c) => {
  const { model_owner, model_name } = c.req.valid("param");
  const reference = `${model_owner}/${model_name}`;
  return c.json(await readOpenAiModel(c.var.services, c.var.caller, reference), 200);
});

openAiModelRoutes.openapi(getEncoded, async (c) => {
  const { model } = c.req.valid("param");
  return c.json(await readOpenAiModel(c.var.services, c.var.caller, model), 200);
});
