/** /v1/operator/users/{username}/capacity: what an account may keep running. */
import { createRoute, z } from "@hono/zod-openapi";
import { requireOperator } from "../../middleware/authentication.ts";
import { slugInPath } from "../../protocol/common.ts";
import { capacityGrant, capacityGrants, putCapacityGrant } from "../../protocol/deployment.ts";
import { listGrantsOf, setGrant } from "../../services/deployments/grants.ts";
import { errorResponses, jsonBody, jsonResponse } from "../responses.ts";
import { router } from "../router.ts";

const operators = { tags: ["Operator"], middleware: requireOperator };
const ofUser = z.object({ username: slugInPath });

const list = createRoute({
  ...operators,
  method: "get",
  path: "/operator/users/{username}/capacity",
  operationId: "listCapacityGrants",
  summary: "List what an account may keep running",
  description: "By hardware class. An account may keep no container of other classes running.",
  request: { params: ofUser },
  responses: { 200: jsonResponse("The grants", capacityGrants), ...errorResponses },
});

const put = createRoute({
  ...operators,
  method: "put",
  path: "/operator/users/{username}/capacity/{identifier}",
  operationId: "putCapacityGrant",
  summary: "Grant capacity to an account",
  description:
    "Sets how many containers of a hardware class the account's deployments may keep running with `min_instances`, 0 by default. Such containers are never stopped for the models of others.",
  request: { params: ofUser.extend({ identifier: slugInPath }), body: jsonBody(putCapacityGrant) },
  responses: { 200: jsonResponse("The grant", capacityGrant), ...errorResponses },
});

export const grantRoutes = router()
  .openapi(list, async (c) => {
    const { username } = c.req.valid("param");
    return c.json({ items: await listGrantsOf(c.var.services, username) }, 200);
  })
  .openapi(put, async (c) => {
    const { username, identifier } = c.req.valid("param");
    const { instances } = c.req.valid("json");
    return c.json(await setGrant(c.var.services, username, identifier, instances), 200);
  });
