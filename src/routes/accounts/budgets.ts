/** /v1/budgets: limits of what an account, its members and its tokens may spend. */
import { createRoute, z } from "@hono/zod-openapi";
import {
  requireOperator,
  requireScope,
  requireScopeToWrite,
} from "../../middleware/authentication.ts";
import {
  budget,
  budgets,
  createBudget as createBody,
  updateBudget as updateBody,
} from "../../protocol/budget.ts";
import { nothing, slugInPath, uuid } from "../../protocol/common.ts";
import { getUser } from "../../services/access/accounts.ts";
import * as service from "../../services/accounts/budgets.ts";
import type { Services } from "../../services/services.ts";
import { conflictResponse, errorResponses, jsonBody, jsonResponse } from "../responses.ts";
import { router } from "../router.ts";

const tags = ["Budgets"];
const writing = { tags, middleware: requireScopeToWrite("changeBudget", "write") };
const operators = { tags: ["Operator"], middleware: requireOperator };
const one = z.object({ budget_id: uuid });
const ofUser = z.object({ username: slugInPath });
const oneOfUser = ofUser.extend({ budget_id: uuid });

const listed = { 200: jsonResponse("Budgets, the oldest first", budgets), ...errorResponses };
const saved = { 200: jsonResponse("The budget", budget), ...errorResponses };
const savedOnce = { ...saved, ...conflictResponse };
const deleted = { 200: jsonResponse("Deleted", nothing), ...errorResponses };

const list = createRoute({
  tags,
  middleware: requireScope("read"),
  method: "get",
  path: "/budgets",
  operationId: "listBudgets",
  summary: "List budgets",
  description:
    "With what is spent and reserved in the current window. Members of an organization see those that apply to them, admins all.",
  responses: listed,
});

const create = createRoute({
  ...writing,
  method: "post",
  path: "/budgets",
  operationId: "createBudget",
  summary: "Create a budget",
  description:
    "For the account, or with `member` or `token_id` for a member of the organization or an access token; several may apply to a prediction. There is one for each window, kind and level (`set_by`): change that one instead of creating another. Takes effect within 10 s, and counts from then. A hard budget reserves the most that a prediction can cost before it runs, or what is left if that is enough for a minute; otherwise, it refuses the prediction with 402. Requires a token without limits. In an organization: the role admin, except for yourself and your own tokens.",
  request: { body: jsonBody(createBody) },
  responses: savedOnce,
});

const update = createRoute({
  ...writing,
  method: "patch",
  path: "/budgets/{budget_id}",
  operationId: "updateBudget",
  summary: "Change a budget",
  description:
    "Updates only the fields that you send. What is spent in the window stays. Only whoever has set a budget, or someone above, can change it.",
  request: { params: one, body: jsonBody(updateBody) },
  responses: savedOnce,
});

const remove = createRoute({
  ...writing,
  method: "delete",
  path: "/budgets/{budget_id}",
  operationId: "deleteBudget",
  summary: "Delete a budget",
  description: "Only whoever has set a budget, or someone above, can delete it.",
  request: { params: one },
  responses: deleted,
});

const listOfUser = createRoute({
  ...operators,
  method: "get",
  path: "/operator/users/{username}/budgets",
  operationId: "listBudgetsOfUser",
  summary: "List the budgets of an account",
  request: { params: ofUser },
  responses: listed,
});

const createForUser = createRoute({
  ...operators,
  method: "post",
  path: "/operator/users/{username}/budgets",
  operationId: "createBudgetForUser",
  summary: "Create a budget for an account",
  description: "Only operators can change it.",
  request: { params: ofUser, body: jsonBody(createBody) },
  responses: savedOnce,
});

const updateOfUser = createRoute({
  ...operators,
  method: "patch",
  path: "/operator/users/{username}/budgets/{budget_id}",
  operationId: "updateBudgetOfUser",
  summary: "Change a budget of an account",
  request: { params: oneOfUser, body: jsonBody(updateBody) },
  responses: savedOnce,
});

const removeOfUser = createRoute({
  ...operators,
  method: "delete",
  path: "/operator/users/{username}/budgets/{budget_id}",
  operationId: "deleteBudgetOfUser",
  summary: "Delete a budget of an account",
  request: { params: oneOfUser },
  responses: deleted,
});

export const budgetRoutes = router()
  .openapi(list, async (c) => {
    const { services, caller } = c.var;
    const reader = await service.readerOf(services, caller);
    return c.json({ items: await service.listBudgets(services, reader) }, 200);
  })
  .openapi(create, async (c) => {
    const { services, caller } = c.var;
    const manager = await service.managerOf(services, caller);
    return c.json(await service.createBudget(services, manager, c.req.valid("json")), 200);
  })
  .openapi(update, async (c) => {
    const { services, caller } = c.var;
    const manager = await service.managerOf(services, caller);
    const { budget_id } = c.req.valid("param");
    const changed = service.updateBudget(services, manager, budget_id, c.req.valid("json"));
    return c.json(await changed, 200);
  })
  .openapi(remove, async (c) => {
    const { services, caller } = c.var;
    const manager = await service.managerOf(services, caller);
    await service.deleteBudget(services, manager, c.req.valid("param").budget_id);
    return c.json({}, 200);
  })
  .openapi(listOfUser, async (c) => {
    const { services } = c.var;
    const manager = await operatorFor(services, c.req.valid("param").username);
    return c.json({ items: await service.listBudgets(services, manager) }, 200);
  })
  .openapi(createForUser, async (c) => {
    const { services } = c.var;
    const manager = await operatorFor(services, c.req.valid("param").username);
    return c.json(await service.createBudget(services, manager, c.req.valid("json")), 200);
  })
  .openapi(updateOfUser, async (c) => {
    const { services } = c.var;
    const { username, budget_id } = c.req.valid("param");
    const manager = await operatorFor(services, username);
    const changed = service.updateBudget(services, manager, budget_id, c.req.valid("json"));
    return c.json(await changed, 200);
  })
  .openapi(removeOfUser, async (c) => {
    const { services } = c.var;
    const { username, budget_id } = c.req.valid("param");
    await service.deleteBudget(services, await operatorFor(services, username), budget_id);
    return c.json({}, 200);
  });

const operatorFor = async (services: Services, username: string) =>
  service.operatorOf((await getUser(services, username)).id);
