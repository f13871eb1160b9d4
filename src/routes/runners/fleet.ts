/** /v1/operator/runners and /v1/operator/queues: the fleet. */
import { createRoute, z } from "@hono/zod-openapi";
import { requireOperator } from "../../middleware/authentication.ts";
import { nothing, pageOf, pageQuery, uuid } from "../../protocol/common.ts";
import { queueState, runnerDetail, runnerState } from "../../protocol/fleet.ts";
import { drainRunner, listRunners, removeRunner } from "../../services/runners/fleet.ts";
import { listQueues } from "../../services/runners/queues.ts";
import { readRunner } from "../../services/runners/runner-detail.ts";
import { conflictResponse, errorResponses, jsonResponse } from "../responses.ts";
import { pageRequest, router } from "../router.ts";

const operators = { tags: ["Operator"], middleware: requireOperator };
const runner_id = uuid;

const list = createRoute({
  ...operators,
  method: "get",
  path: "/operator/runners",
  operationId: "listRunners",
  summary: "List runners",
  request: { query: pageQuery() },
  responses: { 200: jsonResponse("Newest first", pageOf(runnerState)), ...errorResponses },
});

const one = createRoute({
  ...operators,
  method: "get",
  path: "/operator/runners/{runner_id}",
  operationId: "getRunner",
  summary: "Get a runner",
  description: "With its GPUs and containers, and the predictions that it has, and whose they are.",
  request: { params: z.object({ runner_id }) },
  responses: { 200: jsonResponse("The runner", runnerDetail), ...errorResponses },
});

const drain = createRoute({
  ...operators,
  method: "post",
  path: "/operator/runners/{runner_id}/{action}",
  operationId: "drainRunner",
  summary: "Drain or resume a runner",
  description:
    "A draining runner finishes its running predictions and accepts no new ones. Resuming also ends a penalty (`set_aside_until`).",
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
    "Removes a runner. If it comes back, it registers as a new one. Returns 409 unless the runner is offline or stopped: drain it, and stop its process first.",
  request: { params: z.object({ runner_id }) },
  responses: { 200: jsonResponse("Deleted", nothing), ...errorResponses, ...conflictResponse },
});

const queues = createRoute({
  ...operators,
  method: "get",
  path: "/operator/queues",
  operationId: "listQueues",
  summary: "List queues",
  request: { query: pageQuery() },
  responses: {
    200: jsonResponse("Sorted by hardware identifier", pageOf(queueState)),
    ...errorResponses,
  },
});

export const fleetRoutes = router()
  .openapi(list, async (c) =>
    c.json(await listRunners(c.var.services, pageRequest(c, c.req.valid("query"))), 200),
  )
  .openapi(one, async (c) =>
    c.json(await readRunner(c.var.services, c.req.valid("param").runner_id), 200),
  )
  .openapi(drain, async (c) => {
    const { runner_id, action } = c.req.valid("param");
    return c.json(await drainRunner(c.var.services, runner_id, action === "drain", null), 200);
  })
  .openapi(remove, async (c) => {
    await removeRunner(c.var.services, c.req.valid("param").runner_id);
    return c.json({}, 200);
  })
  .openapi(queues, async (c) =>
    c.json(await listQueues(c.var.services, pageRequest(c, c.req.valid("query"))), 200),
  );
