/** Deployments of Replicate's API, below /replicate/v1. */
import { type Context, Hono } from "hono";
import { z } from "zod";
import type { AppEnv } from "../../context.ts";
import { requireScope, requireScopeToWrite } from "../../middleware/authentication.ts";
import { cursorText } from "../../protocol/common.ts";
import {
  createReplicateDeployment as createBody,
  updateReplicateDeployment as updateBody,
} from "../../protocol/replicate.ts";
import { deleteDeployment } from "../../services/deployments/deployments.ts";
import {
  createReplicateDeployment,
  listReplicateDeployments,
  readReplicateDeployment,
  updateReplicateDeployment,
} from "../../services/replicate/deployments.ts";
import { parse, parseBody } from "../router.ts";

const PAGE_SIZE = 25;

const listQuery = z.object({ cursor: cursorText(1_000) });

const changing = requireScopeToWrite("changeDeployment", "write");

const placeOf = ({ req }: Context): [string, string] => [
  req.param("deployment_owner") ?? "",
  req.param("deployment_name") ?? "",
];

const ONE = "/deployments/:deployment_owner/:deployment_name";

export const replicateDeploymentRoutes = new Hono<AppEnv>()
  .get("/deployments", requireScope("read"), async (c) => {
    const { services, caller } = c.var;
    const { cursor } = parse(listQuery, c.req.query(), "query");
    const request = { cursor, size: PAGE_SIZE, url: c.req.url };
    return c.json(await listReplicateDeployments(services, caller, request));
  })
  .post("/deployments", changing, async (c) => {
    const { services, caller } = c.var;
    const request = await parseBody(c, createBody);
    return c.json(await createReplicateDeployment(services, caller, request), 201);
  })
  .get(ONE, requireScope("read"), async (c) =>
    c.json(await readReplicateDeployment(c.var.services, c.var.caller, placeOf(c))),
  )
  .patch(ONE, changing, async (c) => {
    const { services, caller } = c.var;
    const changes = await parseBody(c, updateBody);
    return c.json(await updateReplicateDeployment(services, caller, placeOf(c), changes));
  })
  .delete(ONE, changing, async (c) => {
    await deleteDeployment(c.var.services, c.var.caller, placeOf(c));
    return c.body(null, 204);
  });
