/** /v1/deployments: names that run one version, with settings of their own. */
import { createRoute } from "@hono/zod-openapi";
import { requireScope, requireScopeToWrite } from "../../middleware/authentication.ts";
import { nothing, pageOf } from "../../protocol/common.ts";
import {
  createDeployment as createBody,
  deployment,
  deploymentsQuery,
  oneDeployment,
  release,
  updateDeployment as updateBody,
} from "../../protocol/deployment.ts";
import * as service from "../../services/deployments/deployments.ts";
import { conflictResponse, errorResponses, jsonBody, jsonResponse } from "../responses.ts";
import { pageRequest, router } from "../router.ts";

const tags = ["Deployments"];
const reading = { tags, middleware: requireScope("read") };
const changing = { tags, middleware: requireScopeToWrite("changeDeployment", "write") };
const answer = { 200: jsonResponse("The deployment", deployment), ...errorResponses };

const ONE = "/deployments/{deployment_owner}/{deployment_name}";

const create = createRoute({
  ...changing,
  method: "post",
  path: "/deployments",
  operationId: "createDeployment",
  summary: "Create a deployment",
  description:
    "A name of your account that runs one version, on hardware and with limits of its own. It can be used wherever a model is named, by your account only. Models and deployments of an account share their names.",
  request: { body: jsonBody(createBody) },
  responses: { ...answer, ...conflictResponse },
});

const list = createRoute({
  ...reading,
  method: "get",
  path: "/deployments",
  operationId: "listDeployments",
  summary: "List your deployments",
  description: "Newest first.",
  request: { query: deploymentsQuery },
  responses: { 200: jsonResponse("Deployments", pageOf(deployment)), ...errorResponses },
});

const get = createRoute({
  ...reading,
  method: "get",
  path: ONE,
  operationId: "getDeployment",
  summary: "Get a deployment",
  request: { params: oneDeployment },
  responses: answer,
});

const update = createRoute({
  ...changing,
  method: "patch",
  path: ONE,
  operationId: "updateDeployment",
  summary: "Update a deployment",
  description:
    "Updates only the fields that you send. Each change makes a release, with the next number; a request that changes nothing makes none. Requests that were accepted before run to their end.",
  request: { params: oneDeployment, body: jsonBody(updateBody) },
  responses: { ...answer, ...conflictResponse },
});

const remove = createRoute({
  ...changing,
  method: "delete",
  path: ONE,
  operationId: "deleteDeployment",
  summary: "Delete a deployment",
  description: "Its predictions are kept, and running predictions finish.",
  request: { params: oneDeployment },
  responses: { 200: jsonResponse("Deleted", nothing), ...errorResponses },
});

const releases = createRoute({
  ...reading,
  method: "get",
  path: `${ONE}/releases`,
  operationId: "listReleases",
  summary: "List the releases of a deployment",
  description: "Newest first. The last 100 are kept.",
  request: { params: oneDeployment, query: deploymentsQuery },
  responses: { 200: jsonResponse("Releases", pageOf(release)), ...errorResponses },
});

const placeOf = (param: { deployment_owner: string; deployment_name: string }): service.Place => [
  param.deployment_owner,
  param.deployment_name,
];

export const deploymentRoutes = router()
  .openapi(create, async (c) => {
    const { services, caller } = c.var;
    const created = await service.createDeployment(services, caller, c.req.valid("json"));
    return c.json(service.presentDeployment(created), 200);
  })
  .openapi(list, async (c) => {
    const { services, caller } = c.var;
    const request = pageRequest(c, c.req.valid("query"));
    const page = await service.listDeployments(services, caller, request);
    return c.json({ ...page, items: page.items.map(service.presentDeployment) }, 200);
  })
  .openapi(get, async (c) => {
    const place = placeOf(c.req.valid("param"));
    const found = await service.readDeployment(c.var.services, c.var.caller, place);
    return c.json(service.presentDeployment(found), 200);
  })
  .openapi(update, async (c) => {
    const { services, caller } = c.var;
    const place = placeOf(c.req.valid("param"));
    const changed = await service.updateDeployment(services, caller, place, c.req.valid("json"));
    return c.json(service.presentDeployment(changed), 200);
  })
  .openapi(remove, async (c) => {
    const place = placeOf(c.req.valid("param"));
    await service.deleteDeployment(c.var.services, c.var.caller, place);
    return c.json({}, 200);
  })
  .openapi(releases, async (c) => {
    const { services, caller } = c.var;
    const request = pageRequest(c, c.req.valid("query"));
    const place = placeOf(c.req.valid("param"));
    return c.json(await service.listReleases(services, caller, place, request), 200);
  });
