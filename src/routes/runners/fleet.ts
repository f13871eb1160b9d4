/** /v1/operator/runners, /v1/operator/queues: the fleet, as its operator sees it. */
import { createRoute, z } from "@hono/zod-openapi";
import { requireOperator } from "../../middleware/authentication.ts";
import { nothing, pageOf, pageQuery, uuid } from "../../protocol/common.ts";
import { queueState, runnerState } from "../../protocol/operator.ts";
import {
  drainRunner,
  listQueues,
  listRunners,
  removeRunner,
} from "../../services/runners/fleet.ts";
import { conflictResponse, errorResponses, jsonResponse } from "../responses.ts";
import { pageRequest, router } from "../router.ts";

const operators = { tags: ["Operator"], middleware: requireOperator };
const runner_id = uuid;

const list = createRoute({
  ...operators,
  method: "get",
  path: "/operator/runners",
  operationId: "listRunners",
  summary: "List the runners",
  request: { query: pageQuery() },
  responses: { 200: jsonResponse("Newest first", pageOf(runnerState)), ...errorResponses },
});

const drain = createRoute({
  ...operators,
  method: "post",
  path: "/operator/runners/{runner_id}/{action}",
  operationId: "drainRunner",
  summary: "Drain a runner, or let it take work again",
  description:
    "While it drains, what runs goes on and nothing new begins. To resume one that is set aside ends that too.",
  request: {
    params: z.object({ runner_id, action: z.enum(["drain", "resume"]) }),
  },
  responses: { 200: jsonResponse("The runner", runnerState), ...errorResponses },
});

const remove = createRoute({
  ...operators,
  method: "delete",
  path: "/operator/runners/{runner_id}",
  operationId: "removeRunner",
  summary: "Remove a runner",
  description:
    "One that comes back registers as a new one. Refused with 409 unless it is offline or stopped: drain it, and stop its process.",
  request: { params: z.object({ runner_id }) },
  responses: { 200: jsonResponse("It is gone", nothing), ...errorResponses, ...conflictResponse },
});

const queues = createRoute({
  ...operators,
  method: "get",
  path: "/operator/queues",
  operationId: "listQueues",
  summary: "List what waits, for each class of machines",
  request: { query: pageQuery() },
  responses: { 200: jsonResponse("By their identifiers", pageOf(queueState)), ...errorResponses },
});

export const fleetRoutes = router()
  .openapi(list, async (c) =>
    c.json(await listRunners(c.var.services, pageRequest(c, c.req.valid("query"))), 200),
  )
  .openapi(drain, async (c) => {
    const { runner_id, action } = c.req.valid("param");
    return c.json(await drainRunner(c.var.services, runner_id, action === "drain"), 200);
  })
  .openapi(remove, async (c) => {
    await removeRunner(c.var.services, c.req.valid("param").runner_id);
    return c.json({}, 200);
  })
  .openapi(queues, async (c) =>
    c.json(await listQueues(c.var.services, pageRequest(c, c.req.valid("query"))), 200),
  );
