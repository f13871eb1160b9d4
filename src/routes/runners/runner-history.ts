/** /v1/operator/runners/{id}/history, /events and /log: further parts of a runner's page. */
import { createRoute, z } from "@hono/zod-openapi";
import { ProblemError } from "../../errors/errors.ts";
import { requireOperator } from "../../middleware/authentication.ts";
import { pageOf, uuid } from "../../protocol/common.ts";
import {
  type RunnerLog,
  runnerEvent,
  runnerHistory,
  runnerLog,
} from "../../protocol/runner-log.ts";
import { onePage } from "../../services/pagination.ts";
import {
  askForRunnerLog,
  readEvents,
  readHistory,
  readRunnerLog,
} from "../../services/runners/runner-history.ts";
import type { Services } from "../../services/services.ts";
import { errorResponses, jsonResponse } from "../responses.ts";
import { router } from "../router.ts";

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
    "What it had to do, in steps of five minutes: its predictions, and the use and memory of each GPU.",
  responses: { 200: jsonResponse("Its last 24 hours", runnerHistory), ...errorResponses },
});

const events = createRoute({
  ...ofRunner,
  method: "get",
  path: `${PATH}/events`,
  operationId: "listRunnerEvents",
  summary: "List a runner's events",
  description:
    "What has become of it: starts and ends, drains, losses, GPUs and containers. The latest of each, 120 at most, on one page.",
  responses: { 200: jsonResponse("Newest first", pageOf(runnerEvent)), ...errorResponses },
});

const ask = createRoute({
  ...ofRunner,
  method: "post",
  path: `${PATH}/log`,
  operationId: "askForRunnerLog",
  summary: "Ask a runner for its log",
  description:
    "Asks the runner for the last lines of its own log, 500 at most, without what models print. Returns it if it comes within 3 s, as from a runner that waits for work. One that is full or drained answers within half a minute: read the log until `waiting` is false.",
  responses: { 200: jsonResponse("What there is of it", runnerLog), ...errorResponses },
});

const log = createRoute({
  ...ofRunner,
  method: "get",
  path: `${PATH}/log`,
  operationId: "getRunnerLog",
  summary: "Get a runner's log",
  description:
    "What the runner has sent when it was asked for its log. It is kept in memory, for ten minutes at most.",
  responses: { 200: jsonResponse("What there is of it", runnerLog), ...errorResponses },
});

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
  const detail = `The pool '${runner.pool}' did not answer. Try again.`;
  throw new ProblemError("unavailable", detail, { "retry-after": "1" });
}
