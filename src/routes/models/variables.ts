/** /v1/models/{owner}/{name}/variables: what a model's containers find in their environment. */
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

/** A 422 repeats what was wrong with a body, and here that is a secret, whatever it was called. */
const unrepeated = createMiddleware<AppEnv>(async (c, next) => {
  await next();
  if (c.res.status !== 422) return;
  const issues = c.error instanceof ValidationFailure ? c.error.issues : undefined;
  const detail = issues?.map(({ input: _, ...issue }) => issue) ?? [NOT_JSON];
  c.res = Response.json({ detail }, { status: 422 });
});

/** Without the words of the parser, which quotes what it stumbled over. */
const NOT_JSON = { loc: ["body"], type: "json_invalid", msg: "The body is not valid JSON" };

const list = createRoute({
  method: "get",
  path: PATH,
  operationId: "listVariables",
  tags,
  summary: "List the variables of a model",
  description:
    "Their names, and when they were set; values are shown to nobody. For the model's owner alone. Needs the scope `read` or `write`.",
  middleware: requireScope("read", "write"),
  request: { params: oneModel, query: pageQuery() },
  responses: { 200: jsonResponse("By name", pageOf(variable)), ...errorResponses },
});

const set = createRoute({
  method: "put",
  path: `${PATH}/{variable_name}`,
  operationId: "setVariable",
  tags,
  summary: "Set a variable of a model",
  description:
    "Containers of those versions have it whose `configuration.variable_names` names it, in predictions created from then on: this, and each later change, takes up to 10 s to be known everywhere, and begins another container. The value is kept encrypted, and shown to nobody again. A model may have 100 variables of 32,768 characters, and about 90 KB in all of them together. Names that the runner sets itself, and those that load other code into programs, are refused.",
  middleware: [requireScopeToWrite("write"), unrepeated] as const,
  request: { params: oneModel.extend(oneSettable.shape), body: jsonBody(setBody) },
  responses: {
    200: jsonResponse("It is set", variable),
    ...errorResponses,
    409: problemResponse("There is no room for more"),
  },
});

const remove = createRoute({
  method: "delete",
  path: `${PATH}/{variable_name}`,
  operationId: "deleteVariable",
  tags,
  summary: "Delete a variable of a model",
  description:
    "Versions that want it run without it, in predictions created from then on; known everywhere within 10 s.",
  middleware: requireScopeToWrite("write"),
  request: { params: oneModel.extend(oneVariable.shape) },
  responses: { 200: jsonResponse("It is gone", nothing), ...errorResponses },
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
