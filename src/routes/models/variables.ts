/** /v1/models/{owner}/{name}/variables: environment variables of a model's containers. */
import { createRoute } from "@hono/zod-openapi";
import { createMiddleware } from "hono/factory";
import type { AppEnv } from "../../context.ts";
import { ValidationFailure } from "../../domain/schemas/validation.ts";
import { requireScope, requireScopeToWrite } from "../../middleware/authentication.ts";
import { nothing, pageOf, pageQuery } from "../../protocol/common.ts";
import { oneModel } from "../../protocol/model.ts";
import {
  oneSettable,
  oneVariable,
  setVariable as setBody,
  variable,
} from "../../protocol/variable.ts";
import { deleteVariable, listVariables, setVariable } from "../../services/models/variables.ts";
import { errorResponses, jsonBody, jsonResponse, problemResponse } from "../responses.ts";
import { pageRequest, router } from "../router.ts";

const tags = ["Model variables"];
const PATH = "/models/{model_owner}/{model_name}/variables";

/** Removes invalid values from a 422: here they are secrets, whatever the field was called. */
const hideInputs = createMiddleware<AppEnv>(async (c, next) => {
  await next();
  if (c.res.status !== 422) return;
  const issues = c.error instanceof ValidationFailure ? c.error.issues : undefined;
  const detail = issues?.map(({ input: _, ...issue }) => issue) ?? [NOT_JSON];
  c.res = Response.json({ detail }, { status: 422 });
});

/** The issue without the parser's message, which quotes the text. */
const NOT_JSON = { loc: ["body"], type: "json_invalid", msg: "The body is not valid JSON" };

const list = createRoute({
  method: "get",
  path: PATH,
  operationId: "listVariables",
  tags,
  summary: "List a model's variables",
  description:
    "Lists the names of the model's variables and when each was set. Values are never returned. Only for the model's owner. Requires the scope `read` or `write`.",
  middleware: requireScope("read", "write"),
  request: { params: oneModel, query: pageQuery() },
  responses: { 200: jsonResponse("Sorted by name", pageOf(variable)), ...errorResponses },
});

const set = createRoute({
  method: "put",
  path: `${PATH}/{variable_name}`,
  operationId: "setVariable",
  tags,
  summary: "Set a variable",
  description:
    "Sets an environment variable for the containers of versions that list it in `configuration.variable_names`. Takes effect within 10 s for new predictions, which run in new containers. The value is encrypted and never returned. A model can have 100 variables of up to 32,768 characters, about 90 KB in total. Names that the runner sets, or that change how programs load code, are rejected.",
  middleware: [requireScopeToWrite("setVariable", "write"), hideInputs] as const,
  request: { params: oneModel.extend(oneSettable.shape), body: jsonBody(setBody) },
  responses: {
    200: jsonResponse("The variable", variable),
    ...errorResponses,
    409: problemResponse("The model has the maximum number of variables"),
  },
});

const remove = createRoute({
  method: "delete",
  path: `${PATH}/{variable_name}`,
  operationId: "deleteVariable",
  tags,
  summary: "Delete a variable",
  description:
    "New predictions of versions that list the variable run without it. Takes effect within 10 s.",
  middleware: requireScopeToWrite("deleteVariable", "write"),
  request: { params: oneModel.extend(oneVariable.shape) },
  responses: { 200: jsonResponse("Deleted", nothing), ...errorResponses },
});

export const variableRoutes = router()
  .openapi(list, async (c) => {
    const { services, caller } = c.var;
    const { model_owner, model_name } = c.req.valid("param");
    const request = pageRequest(c, c.req.valid("query"));
    return c.json(await listVariables(services, caller, model_owner, model_name, request), 200);
  })
  .openapi(set, async (c) => {
    const { services, caller } = c.var;
    const { model_owner, model_name, variable_name: name } = c.req.valid("param");
    const { value } = c.req.valid("json");
    const row = await setVariable(services, caller, model_owner, model_name, { name, value });
    return c.json(row, 200);
  })
  .openapi(remove, async (c) => {
    const { services, caller } = c.var;
    const { model_owner, model_name, variable_name } = c.req.valid("param");
    await deleteVariable(services, caller, model_owner, model_name, variable_name);
    return c.json({}, 200);
  });
