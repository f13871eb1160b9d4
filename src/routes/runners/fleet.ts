/** /v1/operator/runners and /v1/operator/queues: the fleet. */
import { createRoute, z } from "@hono/zod-openapi";
import { ProblemError } from "../../errors/errors.ts";
import { requireOperator } from "../../middleware/authentication.ts";
import { nothing, pageOf, pageQuery, uuid } from "../../protocol/common.ts";
import { queueState, runnerDetail, runnerState } from "../../protocol/fleet.ts";
import {
  type RunnerLog,
  runnerEvent,
  runnerHistory,
  runnerLog,
} from "../../protocol/runner-log.ts";
import { onePage } from "../../services/pagination.ts";
import { drainRunner, listRunners, removeRunner } from "../../services/runners/fleet.ts";
import { listQueues } from "../../services/runners/queues.ts";
import { readRunner } from "../../services/runners/runner-detail.ts";
import {
  askForRunnerLog,
  readEvents,
  readHistory,
  readRunnerLog,
} from "../../services/runners/runner-history.ts";
import type { Services } from "../../services/services.ts";
import { conflictResponse, errorResponses, jsonResponse } from "../responses.ts";
import { pageRequest, router } from "../router.ts";

const ofRunner = {
  tags: ["Operator"],
  middleware: requireOperator,
  request: { params: z.object({ runner_id: uuid }) },
};

const PATH = "/operator/runners/{runner_id}";

const history = createRoute({
  ...ofRunner,
  method: "get",
  path: `${PATH}/history`,
  operationId: "getRunnerHistory",
  summary: "Get a runner's last 24 hours",
  description:
    "Returns its predictions, and the use and memory of each GPU, in steps of five minutes.",
  responses: { 200: jsonResponse("Its last 24 hours", runnerHistory), ...errorResponses },
});

const events = createRoute({
  ...ofRunner,
  method: "get",
  path: `${PATH}/events`,
  operationId: "listRunnerEvents",
  summary: "List a runner's events",
  description:
    "Lists starts, stops, drains, lost connections, and changes of GPUs and containers: the latest of each kind, up to 120 on one page.",
  responses: { 200: jsonResponse("Newest first", pageOf(runnerEvent)), ...errorResponses },
});

const ask = createRoute({
  ...ofRunner,
  method: "post",
  path: `${PATH}/log`,
  operationId: "askForRunnerLog",
  summary: "Request a runner's log",
  description:
    "Requests up to 500 of the last lines of the runner's own log, without model output. Returns the log if it arrives within 3 s, as from an idle runner. A full or drained runner responds within half a minute: get the log until `waiting` is false.",
  responses: { 200: jsonResponse("The log so far", runnerLog), ...errorResponses },
});

const log = createRoute({
  ...ofRunner,
  method: "get",
  path: `${PATH}/log`,
  operationId: "getRunnerLog",
  summary: "Get a runner's log",
  description: "Returns the last log that the runner sent. Kept for up to ten minutes.",
  responses: { 200: jsonResponse("The log so far", runnerLog), ...errorResponses },
});

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
  description: "Includes its GPUs, containers and active predictions with their owners.",
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
    "A draining runner finishes its running predictions and accepts no new ones. Resuming also ends a pause (`set_aside_until`).",
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
    "Removes a runner that is offline or stopped; otherwise returns 409. Drain the runner and stop its process first. If it comes back, it registers as a new runner.",
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

/** /v1/operator/runners/{id}/history, /events and /log: further parts of a runner's page. */
export const runnerHistoryRoutes = router()
  .openapi(history, async (c) =>
    c.json((await readHistory(c.var.services, c.req.valid("param").runner_id)).history, 200),
  )
  .openapi(events, async (c) =>
    c.json(onePage(await readEvents(c.var.services, c.req.valid("param").runner_id)), 200),
  )
  .openapi(ask, async (c) => {
    const { runner_id } = c.req.valid("param");
    await askForRunnerLog(c.var.services, runner_id);
    return c.json(await logOf(c.var.services, runner_id), 200);
  })
  .openapi(log, async (c) =>
    c.json(await logOf(c.var.services, c.req.valid("param").runner_id), 200),
  );

/** @throws ProblemError not_found; unavailable if its pool does not answer */
async function logOf(services: Services, id: string): Promise<RunnerLog> {
  const { runner, log: known } = await readRunnerLog(services, id);
  if (known) return known;
  const detail = `The pool '${runner.pool}' did not respond. Try again.`;
  throw new ProblemError("unavailable", detail, { "retry-after": "1" });
}
