/** /v1/operator/runners: the fleet, as its operator sees it. */
import { createRoute, z } from "@hono/zod-openapi";
import { operatorOnly } from "../middleware/authentication.ts";
import { pageOf, pageQuery, uuid } from "../protocol/common.ts";
import { runnerState } from "../protocol/operator.ts";
import { drainRunner, listRunners } from "../services/runners.ts";
import { errorAnswers, jsonAnswer, pageRequest, routes } from "./context.ts";

const operators = { tags: ["Operator"], middleware: operatorOnly };

const list = createRoute({
  ...operators,
  method: "get",
  path: "/operator/runners",
  operationId: "listRunners",
  summary: "List the runners",
  request: { query: pageQuery() },
  responses: { 200: jsonAnswer("Newest first", pageOf(runnerState)), ...errorAnswers },
});

const drain = createRoute({
  ...operators,
  method: "post",
  path: "/operator/runners/{runner_id}/{action}",
  operationId: "drainRunner",
  summary: "Drain a runner, or let it take work again",
  description: "While it drains, what runs goes on and nothing new begins.",
  request: {
    params: z.object({ runner_id: uuid, action: z.enum(["drain", "resume"]) }),
  },
  responses: { 200: jsonAnswer("The runner", runnerState), ...errorAnswers },
});

export const fleetRoutes = routes()
  .openapi(list, async (c) =>
    c.json(await listRunners(c.var.services, pageRequest(c, c.req.valid("query"))), 200),
  )
  .openapi(drain, async (c) => {
    const { runner_id, action } = c.req.valid("param");
    return c.json(await drainRunner(c.var.services, runner_id, action === "drain"), 200);
  });
