/** /v1/runner: what runners call (see protocol/runner.ts). */
import { Hono } from "hono";
import { ProblemError } from "../errors.ts";
import { runnersOnly } from "../middleware/authentication.ts";
import { eventsFrame } from "../protocol/channel.ts";
import {
  claimRequest,
  LEASE_HEADER,
  sessionRequest,
  telemetryRequest,
} from "../protocol/runner.ts";
import { beginSession, claim, connect, readInput, report, reportRun } from "../services/runners.ts";
import { type App, bodyOf } from "./context.ts";

export const runnerRoutes = new Hono<App>()
  .basePath("/runner")
  .use(runnersOnly)
  .post("/sessions", async (c) =>
    c.json(await beginSession(c.var.services, c.var.runner, await bodyOf(c, sessionRequest))),
  )
  .post("/jobs/claim", async (c) =>
    claim(c.var.services, c.var.runner, await bodyOf(c, claimRequest), c.req.raw.signal),
  )
  .get("/channel", (c) => {
    if (c.req.header("upgrade")?.toLowerCase() !== "websocket") {
      throw new ProblemError("bad_request", "The channel is a WebSocket.");
    }
    return connect(c.var.services, c.req.header(LEASE_HEADER) ?? "");
  })
  .post("/report", async (c) => {
    const lease = c.req.header(LEASE_HEADER) ?? "";
    return c.json(await reportRun(c.var.services, lease, await bodyOf(c, eventsFrame)));
  })
  .get("/input", async (c) => {
    const text = await readInput(c.var.services, c.req.header(LEASE_HEADER) ?? "");
    return c.body(text, 200, { "content-type": "application/json" });
  })
  .post("/telemetry", async (c) =>
    c.json(await report(c.var.services, c.var.runner, await bodyOf(c, telemetryRequest))),
  );
