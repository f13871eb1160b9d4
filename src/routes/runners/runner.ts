/** /v1/runner: the API for runners (see protocol/runner.ts). */
import { type Context, Hono } from "hono";
import type { z } from "zod";
import type { AppEnv } from "../../context.ts";
import type { LeaseHolder } from "../../domain/predictions/lease.ts";
import { ProblemError } from "../../errors/errors.ts";
import { limitRunner, limitRunnerToken, requireRunner } from "../../middleware/authentication.ts";
import { MAX_BODY_BYTES } from "../../middleware/body-reader.ts";
import { reportsRequest } from "../../protocol/channel.ts";
import {
  claimRequest,
  LEASE_HEADER,
  sessionRequest,
  spokenProtocol,
  stateRequest,
  telemetryRequest,
} from "../../protocol/runner.ts";
import { MAX_RUNNER_LOG_BYTES, runnerLogRequest } from "../../protocol/runner-log.ts";
import { completeUpload, createUpload } from "../../protocol/upload.ts";
import {
  beginRunnerUpload,
  completeRunnerUpload,
  readInputFile,
  storeFile,
  storeValue,
} from "../../services/runners/runner-files.ts";
import {
  beginSession,
  claim,
  openJobChannel,
  readJobInput,
  readServedHardware,
  reportState,
  reportTelemetry,
  requireProtocol,
  takeLog,
  takeReports,
} from "../../services/runners/runners.ts";
import { parse, parseBody } from "../router.ts";

const wholeFile = createUpload.omit({ size: true });

export const runnerRoutes = new Hono<AppEnv>()
  .basePath("/runner")
  .get("/hardware/:identifier", requireRunner, async (c) =>
    c.json(await readServedHardware(c.var.services, c.var.runner, c.req.param("identifier"))),
  )
  .post("/sessions", requireRunner, limitRunnerToken, async (c) => {
    const { origin } = new URL(c.req.url);
    // The protocol is checked first: the rest of the body may have another shape.
    await requireProtocol(c.var.services, (await parseBody(c, spokenProtocol)).protocol, origin);
    const request = await parseBody(c, sessionRequest);
    return c.json(await beginSession(c.var.services, c.var.runner, request));
  })
  .use(requireRunner)
  .post("/jobs/claim", async (c) => {
    const request = await limitedBody(c, claimRequest);
    return claim(c.var.services, c.var.runner, request, c.req.raw.signal);
  })
  .post("/state", async (c) => {
    const request = await limitedBody(c, stateRequest);
    return c.json(await reportState(c.var.services, c.var.runner, request));
  })
  .post("/log", async (c) => {
    if (Number(c.req.header("content-length")) > MAX_RUNNER_LOG_BYTES)
      throw new ProblemError("too_large", `A log has at most ${MAX_RUNNER_LOG_BYTES} bytes.`);
    const request = await limitedBody(c, runnerLogRequest);
    await takeLog(c.var.services, c.var.runner, request);
    return c.json({});
  })
  .get("/channel", (c) => {
    if (c.req.header("upgrade")?.toLowerCase() !== "websocket") {
      throw new ProblemError("bad_request", "The channel requires a WebSocket upgrade.");
    }
    return openJobChannel(c.var.services, holderOf(c));
  })
  .post("/reports", async (c) =>
    c.json(await takeReports(c.var.services, c.var.runner, await parseBody(c, reportsRequest))),
  )
  .get("/input", async (c) => {
    const text = await readJobInput(c.var.services, holderOf(c));
    return c.body(text, 200, { "content-type": "application/json" });
  })
  .get("/files/:source/:name", (c) => {
    const key = `${c.req.param("source")}/${c.req.param("name")}`;
    return readInputFile(c.var.services, holderOf(c), key, c.req.raw);
  })
  .post("/files", async (c) => {
    const facts = { mime_type: c.req.header("content-type"), name: c.req.query("name") };
    const { name = "file", mime_type } = parse(wholeFile, facts, "query");
    const length = Number(c.req.header("content-length"));
    if (length > MAX_BODY_BYTES)
      throw new ProblemError("too_large", "Send files larger than 10 MB in parts.");
    const body = length === 0 ? "" : streamOf(c);
    const holder = holderOf(c);
    const url = await storeFile(c.var.services, holder, { mime_type, name }, body, length);
    return c.json({ url });
  })
  .post("/uploads", async (c) => {
    const { origin } = new URL(c.req.url);
    const request = await parseBody(c, createUpload);
    return c.json(await beginRunnerUpload(c.var.services, holderOf(c), request, origin));
  })
  .post("/uploads/:id/complete", async (c) => {
    const { etags } = await parseBody(c, completeUpload);
    const id = c.req.param("id");
    return c.json({ url: await completeRunnerUpload(c.var.services, holderOf(c), id, etags) });
  })
  .post("/values", async (c) => {
    const body = streamOf(c);
    const size = Number(c.req.header("content-length"));
    return c.json({ name: await storeValue(c.var.services, holderOf(c), body, size) });
  })
  .post("/telemetry", limitRunnerToken, async (c) =>
    c.json(
      await reportTelemetry(c.var.services, c.var.runner, await parseBody(c, telemetryRequest)),
    ),
  );

/** Returns the body of a call that reaches the runner's pool. An invalid one counts against the token. */
async function limitedBody<T extends { runner_id: string }>(
  c: Context<AppEnv>,
  schema: z.ZodType<T>,
): Promise<T> {
  const request = await parseBody(c, schema).catch(async (error) => {
    await limitRunner(c);
    throw error;
  });
  await limitRunner(c, request.runner_id);
  return request;
}

function holderOf(c: Context<AppEnv>): LeaseHolder {
  const { token_id, token_known_at } = c.var.runner;
  return { lease: c.req.header(LEASE_HEADER) ?? "", token_id, token_known_at };
}

/** Returns the body as a stream with a length, which R2 requires. @throws ProblemError bad_request */
function streamOf({ req }: Context<AppEnv>): ReadableStream {
  if (req.raw.body && req.header("content-length") !== undefined) return req.raw.body;
  throw new ProblemError("bad_request", "A body with a Content-Length is required.");
}
