/** /v1/models/{owner}/{name}/versions: publishing, reading, listing and deleting versions. */
import { createRoute } from "@hono/zod-openapi";
import { anybody, changing } from "../../middleware/authentication.ts";
import { conditional, shareable } from "../../middleware/conditional.ts";
import { nothing, pageOf, pageQuery } from "../../protocol/common.ts";
import {
  createVersion as createBody,
  oneModel,
  oneVersion,
  version,
  versionSummary,
} from "../../protocol/model.ts";
import {
  createVersion,
  deleteVersion,
  listVersions,
  readVersion,
} from "../../services/models/versions.ts";
import {
  conflictAnswer,
  errorAnswers,
  jsonAnswer,
  jsonBody,
  pageRequest,
  routes,
} from "../context.ts";

const tags = ["Model versions"];
const PATH = "/models/{model_owner}/{model_name}/versions";

const list = createRoute({
  method: "get",
  path: PATH,
  operationId: "listVersions",
  tags,
  summary: "List the versions of a model",
  middleware: [anybody, conditional],
  request: { params: oneModel, query: pageQuery() },
  responses: { 200: jsonAnswer("Newest first", pageOf(versionSummary)), ...errorAnswers },
});

const create = createRoute({
  method: "post",
  path: PATH,
  operationId: "createVersion",
  tags,
  summary: "Publish a version",
  description:
    "Its number is one more than the last one given. A version never changes. Without `configuration` it inherits that of the latest version. One that is sent replaces all of it: isolation and egress that it does not name are the defaults again.",
  middleware: changing("write"),
  request: { params: oneModel, body: jsonBody(createBody) },
  responses: { 200: jsonAnswer("The version", version), ...errorAnswers, ...conflictAnswer },
});

const get = createRoute({
  method: "get",
  path: `${PATH}/{version_number}`,
  operationId: "getVersion",
  tags,
  summary: "Get a version",
  middleware: [anybody, conditional],
  request: { params: oneVersion },
  responses: { 200: jsonAnswer("The version", version), ...errorAnswers },
});

const remove = createRoute({
  method: "delete",
  path: `${PATH}/{version_number}`,
  operationId: "deleteVersion",
  tags,
  summary: "Delete a version",
  description:
    "Its number is not given again. Refused with 409 while a prediction of it is under way.",
  middleware: changing("write"),
  request: { params: oneVersion },
  responses: { 200: jsonAnswer("It is gone", nothing), ...errorAnswers, ...conflictAnswer },
});

export const versionRoutes = routes()
  .openapi(list, async (c) => {
    const { services, caller } = c.var;
    const { model_owner, model_name } = c.req.valid("param");
    const request = pageRequest(c, c.req.valid("query"));
    const { page, shared } = await listVersions(services, caller, model_owner, model_name, request);
    if (shared) shareable(c);
    return c.json(page, 200);
  })
  .openapi(create, async (c) => {
    const { services, caller } = c.var;
    const { model_owner, model_name } = c.req.valid("param");
    const body = c.req.valid("json");
    const row = await createVersion(services, caller, model_owner, model_name, body);
    return c.json(services.present.version(row), 200);
  })
  .openapi(get, async (c) => {
    const { services, caller } = c.var;
    const { model_owner, model_name, version_number } = c.req.valid("param");
    const { version, shared } = await readVersion(
      services,
      caller,
      model_owner,
      model_name,
      version_number,
    );
    if (shared) shareable(c);
    return c.json(services.present.version(version), 200);
  })
  .openapi(remove, async (c) => {
    const { model_owner, model_name, version_number } = c.req.valid("param");
    await deleteVersion(c.var.services, c.var.caller, model_owner, model_name, version_number);
    return c.json({}, 200);
  });
