/** /v1/models/{owner}/{name}/collaborators: the accounts that a model is shared with. */
import { createRoute } from "@hono/zod-openapi";
import { requireScope, requireScopeToWrite } from "../../middleware/authentication.ts";
import { nothing, pageOf, pageQuery, slugInPath } from "../../protocol/common.ts";
import { oneModel } from "../../protocol/model.ts";
import { collaborator, setCollaborator as setBody } from "../../protocol/organization.ts";
import {
  listCollaborators,
  removeCollaborator,
  setCollaborator,
} from "../../services/models/collaborators.ts";
import { conflictResponse, errorResponses, jsonBody, jsonResponse } from "../responses.ts";
import { pageRequest, router } from "../router.ts";

const tags = ["Model collaborators"];
const PATH = "/models/{model_owner}/{model_name}/collaborators";
const one = oneModel.extend({ account: slugInPath.meta({ example: "grace" }) });
const changing = requireScopeToWrite("shareModel", "write");

const list = createRoute({
  method: "get",
  path: PATH,
  operationId: "listCollaborators",
  tags,
  summary: "List a model's collaborators",
  description:
    "Only for the model's owner; in an organization, for admins. Requires the scope `read` or `write`.",
  middleware: requireScope("read", "write"),
  request: { params: oneModel, query: pageQuery() },
  responses: {
    200: jsonResponse("The accounts that the model is shared with", pageOf(collaborator)),
    ...errorResponses,
  },
});

const set = createRoute({
  method: "put",
  path: `${PATH}/{account}`,
  operationId: "setCollaborator",
  tags,
  summary: "Share a model",
  description:
    "Shares the model with a user or an organization, or changes the level. Only for the model's owner; in an organization, for admins. Versions that a collaborator publishes can read the model's variables. Shares of a public model are kept when it becomes private. Requires a token with all scopes, any priority, no expiry and no limits. Takes effect everywhere within 10 s.",
  middleware: changing,
  request: { params: one, body: jsonBody(setBody) },
  responses: {
    200: jsonResponse("The collaborator", collaborator),
    ...errorResponses,
    ...conflictResponse,
  },
});

const remove = createRoute({
  method: "delete",
  path: `${PATH}/{account}`,
  operationId: "removeCollaborator",
  tags,
  summary: "Stop sharing a model",
  description:
    "For the model's owner, and for the collaborator itself; in an organization, for admins. Streams and requests that run the model end within 10 s, and its predictions run to their end.",
  middleware: changing,
  request: { params: one },
  responses: { 200: jsonResponse("Removed", nothing), ...errorResponses },
});

export const collaboratorRoutes = router()
  .openapi(list, async (c) => {
    const { services, caller } = c.var;
    const { model_owner, model_name } = c.req.valid("param");
    const request = pageRequest(c, c.req.valid("query"));
    return c.json(
      await listCollaborators(services, caller, [model_owner, model_name], request),
      200,
    );
  })
  .openapi(set, async (c) => {
    const { services, caller } = c.var;
    const { model_owner, model_name, account } = c.req.valid("param");
    const { level } = c.req.valid("json");
    const place: [string, string] = [model_owner, model_name];
    return c.json(await setCollaborator(services, caller, place, account, level), 200);
  })
  .openapi(remove, async (c) => {
    const { services, caller } = c.var;
    const { model_owner, model_name, account } = c.req.valid("param");
    await removeCollaborator(services, caller, [model_owner, model_name], account);
    return c.json({}, 200);
  });
