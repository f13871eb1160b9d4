/** /v1/deployments: names that run one version, with settings of their own. */
import { createRoute } from "@hono/zod-openapi";
import { requireScope, requireScopeToWrite } from "../../middleware/authentication.ts";
import { nothing, pageOf } from "../../protocol/common.ts";
import {
  changedDeployment,
  changeQuery,
  createDeployment as createBody,
  deployment,
  deploymentsQuery,
  FIGURE_DAYS,
  listedRelease,
  oneDeployment,
  updateDeployment as updateBody,
} from "../../protocol/deployment.ts";
import * as changes from "../../services/deployments/changes.ts";
import * as service from "../../services/deployments/deployments.ts";
import { presentDeployment, presentDeployments } from "../../services/deployments/present.ts";
import type { Services } from "../../services/services.ts";
import { conflictResponse, errorResponses, jsonBody, jsonResponse } from "../responses.ts";
import { pageRequest, router } from "../router.ts";

const tags = ["Deployments"];
const reading = { tags, middleware: requireScope("read") };
const changing = { tags, middleware: requireScopeToWrite("changeDeployment", "write") };
const changed = {
  200: jsonResponse("The deployment, and what it displaces", changedDeployment),
  ...errorResponses,
  ...conflictResponse,
};
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
  request: { query: changeQuery, body: jsonBody(createBody) },
  responses: changed,
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
    "Updates only the fields that you send. Each change makes a release, with the next number; a request that changes nothing makes none. A release with `min_instances` takes over once a container of it has started, and its `probe` has succeeded; if it cannot start, the one before stays. Predictions that were accepted before run to their end.",
  request: { params: oneDeployment, query: changeQuery, body: jsonBody(updateBody) },
  responses: changed,
});

const rollBack = createRoute({
  ...changing,
  method: "post",
  path: `${ONE}/rollback`,
  operationId: "rollBackDeployment",
  summary: "Roll back a deployment",
  description:
    "Goes back at once: gives up the release that is starting, or else makes a release with the settings of the one before. Containers of that one are kept for an hour after it was replaced.",
  request: { params: oneDeployment },
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
  description: `Newest first. The last 100 are kept. \`figures\` are of the last ${FIGURE_DAYS} days.`,
  request: { params: oneDeployment, query: deploymentsQuery },
  responses: { 200: jsonResponse("Releases", pageOf(listedRelease)), ...errorResponses },
});

const placeOf = (param: { deployment_owner: string; deployment_name: string }): service.Place => [
  param.deployment_owner,
  param.deployment_name,
];

const optionsOf = (query: { dry_run: string; allow_downtime: string }): changes.ChangeOptions => ({
  dry_run: query.dry_run === "true",
  allow_downtime: query.allow_downtime === "true",
});

const presentChanged = async (services: Services, { detailed, displaces }: changes.Changed) => ({
  ...(await presentDeployment(services, detailed)),
  displaces,
});

export const deploymentRoutes = router()
  .openapi(create, async (c) => {
    const { services, caller } = c.var;
    const options = optionsOf(c.req.valid("query"));
    const body = c.req.valid("json");
    const made = await changes.createDeployment(services, caller, body, options);
    return c.json(await presentChanged(services, made), 200);
  })
  .openapi(list, async (c) => {
    const { services, caller } = c.var;
    const request = pageRequest(c, c.req.valid("query"));
    const page = await service.listDeployments(services, caller, request);
    return c.json({ ...page, items: await presentDeployments(services, page.items) }, 200);
  })
  .openapi(get, async (c) => {
    const { services, caller } = c.var;
    const found = await service.readDeployment(services, caller, placeOf(c.req.valid("param")));
    return c.json(await presentDeployment(services, found), 200);
  })
  .openapi(update, async (c) => {
    const { services, caller } = c.var;
    const place = placeOf(c.req.valid("param"));
    const options = optionsOf(c.req.valid("query"));
    const body = c.req.valid("json");
    const made = await changes.updateDeployment(services, caller, place, body, options);
    return c.json(await presentChanged(services, made), 200);
  })
  .openapi(rollBack, async (c) => {
    const { services, caller } = c.var;
    const found = await changes.rollBack(services, caller, placeOf(c.req.valid("param")));
    return c.json(await presentDeployment(services, found), 200);
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
