/** /v1/models: creating, reading, listing, searching, changing and deleting models. */
import { createRoute } from "@hono/zod-openapi";
import { allowAnonymous, requireScopeToWrite } from "../../middleware/authentication.ts";
import { conditionalGet, markPublic } from "../../middleware/conditional.ts";
import { nothing, pageOf, searchQuery } from "../../protocol/common.ts";
import {
  createModel as createBody,
  foundModel,
  model,
  modelItem,
  modelsQuery,
  oneModel,
  updateModel as updateBody,
} from "../../protocol/model.ts";
import {
  createModel,
  deleteModel,
  listModels,
  readModel,
  updateModel,
} from "../../services/models/models.ts";
import { searchModels } from "../../services/models/search.ts";
import { conflictResponse, errorResponses, jsonBody, jsonResponse } from "../responses.ts";
import { pageRequest, router } from "../router.ts";

const tags = ["Models"];

const create = createRoute({
  method: "post",
  path: "/models",
  operationId: "createModel",
  tags,
  summary: "Create a model",
  description: "Creates a model, private by default. To run it, publish a version.",
  middleware: requireScopeToWrite("createModel", "write"),
  request: { body: jsonBody(createBody) },
  responses: { 200: jsonResponse("The model", model), ...errorResponses, ...conflictResponse },
});

const list = createRoute({
  method: "get",
  path: "/models",
  operationId: "listModels",
  tags,
  summary: "List models",
  description:
    "Lists public and restricted models, oldest first by default. `predictions_count` can lag by two minutes, and sorting by it by one minute more.",
  middleware: [allowAnonymous, conditionalGet],
  request: { query: modelsQuery(100) },
  responses: { 200: jsonResponse("Models", pageOf(modelItem)), ...errorResponses },
});

const listOfOwner = createRoute({
  method: "get",
  path: "/models/{model_owner}",
  operationId: "listModelsOfOwner",
  tags,
  summary: "List a user's models",
  description:
    "Lists a user's public and restricted models. To list your own, including private ones, use GET /user/models.",
  middleware: [allowAnonymous, conditionalGet],
  request: { params: oneModel.pick({ model_owner: true }), query: modelsQuery(50) },
  responses: { 200: jsonResponse("Models", pageOf(modelItem)), ...errorResponses },
});

const get = createRoute({
  method: "get",
  path: "/models/{model_owner}/{model_name}",
  operationId: "getModel",
  tags,
  summary: "Get a model",
  middleware: [allowAnonymous, conditionalGet],
  request: { params: oneModel },
  responses: { 200: jsonResponse("The model, with its latest version", model), ...errorResponses },
});

const update = createRoute({
  method: "patch",
  path: "/models/{model_owner}/{model_name}",
  operationId: "updateModel",
  tags,
  summary: "Update a model",
  description:
    "Updates only the fields you send; null clears a field. After a rename, URLs with the old name return 404; running predictions continue.",
  middleware: requireScopeToWrite("updateModel", "write"),
  request: { params: oneModel, body: jsonBody(updateBody) },
  responses: {
    200: jsonResponse("The updated model", model),
    ...errorResponses,
    ...conflictResponse,
  },
});

const remove = createRoute({
  method: "delete",
  path: "/models/{model_owner}/{model_name}",
  operationId: "deleteModel",
  tags,
  summary: "Delete a model",
  description:
    "Deletes a model and all its versions. Its predictions are kept, and running predictions finish.",
  middleware: requireScopeToWrite("deleteModel", "write"),
  request: { params: oneModel },
  responses: { 200: jsonResponse("Deleted", nothing), ...errorResponses },
});

const search = createRoute({
  method: "get",
  path: "/search/models",
  operationId: "searchModels",
  tags,
  summary: "Search models",
  description:
    "Searches names, owners, descriptions and overviews, and tolerates small typos. Best matches first. With a token that is not limited to some models, results include your private models and those shared with you.",
  middleware: [allowAnonymous, conditionalGet],
  request: { query: searchQuery },
  responses: { 200: jsonResponse("Best matches first", pageOf(foundModel)), ...errorResponses },
});

export const modelRoutes = router()
  .openapi(create, async (c) =>
    c.json(await createModel(c.var.services, c.var.caller, c.req.valid("json")), 200),
  )
  .openapi(list, async (c) => {
    const { cursor, page_size, ...filters } = c.req.valid("query");
    const request = pageRequest(c, { cursor, page_size });
    markPublic(c);
    return c.json(await listModels(c.var.services, c.var.caller, undefined, filters, request), 200);
  })
  .openapi(listOfOwner, async (c) => {
    const { cursor, page_size, ...filters } = c.req.valid("query");
    const request = pageRequest(c, { cursor, page_size });
    const { model_owner } = c.req.valid("param");
    markPublic(c);
    return c.json(
      await listModels(c.var.services, c.var.caller, model_owner, filters, request),
      200,
    );
  })
  .openapi(get, async (c) => {
    const { services, caller } = c.var;
    const { model_owner, model_name } = c.req.valid("param");
    const row = await readModel(services, caller, model_owner, model_name);
    if (row.visibility !== "private") markPublic(c);
    return c.json(services.present.model(row), 200);
  })
  .openapi(update, async (c) => {
    const { services, caller } = c.var;
    const { model_owner, model_name } = c.req.valid("param");
    const changes = c.req.valid("json");
    return c.json(await updateModel(services, caller, model_owner, model_name, changes), 200);
  })
  .openapi(remove, async (c) => {
    const { model_owner, model_name } = c.req.valid("param");
    await deleteModel(c.var.services, c.var.caller, model_owner, model_name);
    return c.json({}, 200);
  })
  .openapi(search, async (c) => {
    const { services, caller } = c.var;
    const query = c.req.valid("query");
    if (!caller) markPublic(c);
    return c.json(await searchModels(services, caller, query.q, pageRequest(c, query)), 200);
  });
