/** The calls of runners: sessions, jobs, channels, inputs, telemetry. */
import { v7 as uuid } from "uuid";
import { type LeaseHolder, parseLease } from "../../domain/predictions/lease.ts";
import { runCommand } from "../../domain/runners/runner-version.ts";
import { notFound, ProblemError } from "../../errors/errors.ts";
import {
  claimJobs,
  POLL_SECONDS,
  poolOf,
  type ReportProblem,
  reportProblem,
} from "../../objects/stubs/pool.ts";
import {
  openChannel,
  type PredictionStub,
  predictionWithId,
} from "../../objects/stubs/prediction.ts";
import { runnerAt } from "../../objects/stubs/runner.ts";
import type { ReportReply, ReportsRequest, ReportsResponse } from "../../protocol/channel.ts";
import type { Hardware } from "../../protocol/hardware.ts";
import {
  type ClaimRequest,
  RUNNER_PROTOCOL,
  type SessionRequest,
  type SessionResponse,
  type StateRequest,
  type TelemetryRequest,
  type TelemetryResponse,
} from "../../protocol/runner.ts";
import type { RunnerLogRequest } from "../../protocol/runner-log.ts";
import type { SnapshotResponse } from "../../protocol/runner-state.ts";
import { isRunnerToken } from "../../storage/accounts/tokens.ts";
import { cached } from "../../storage/cache.ts";
import { isLimitReached } from "../../storage/database.ts";
import { deleteRunner, findRunner, saveRunner } from "../../storage/runners/runners.ts";
import type { RunnerCaller } from "../access/access.ts";
import { unknownRunnerToken } from "../access/authentication.ts";
import { readManifest } from "../assets.ts";
import { orConflict } from "../conflicts.ts";
import { jsonBodyOf } from "../predictions/prediction-text.ts";
import type { Services } from "../services.ts";
import { withTimeout } from "../with-timeout.ts";
import { getHardware } from "./hardware.ts";
import { readServedPool, requireHardware } from "./pools.ts";

/** Pings per lease, of which two can be lost. */
const PINGS_PER_LEASE = 3;
/** Runners per token: each runner has a row, an object and a record in its pool. */
const MAX_RUNNERS = 1_000;

const superseded = () =>
  new ProblemError(
    "session_superseded",
    "Another process uses this runner's name. Give each process its own --name, or stop one.",
  );

function refusal(why: ReportProblem, pool: string): ProblemError {
  if (why === "superseded") return superseded();
  if (why === "unknown") return notFound("The runner's session");
  const detail =
    why === "too_large"
      ? "This runner reports more containers and GPUs than its pool supports. Lower `--containers`, or stop some containers."
      : `The pool '${pool}' has no capacity for another runner of this token. Stop some runners, or move them to another pool.`;
  return new ProblemError("too_many_requests", detail, { "retry-after": "30" });
}

/** The runners by id. This isolate forgets a removed runner at once, others within 10 s. */
export const runnerCache = cached(
  { max: 10_000, failingMs: 60_000 },
  ({ db }: Services, id: string) => findRunner(db, id),
);

/** Whether this isolate has seen the runner with this token within a minute. */
export const isSeenRunner = ({ token_id }: RunnerCaller, runnerId: string): boolean =>
  runnerCache.lastKnown(runnerId)?.token_id === token_id;

/**
 * @param origin of this deployment, as the runner reaches it
 * @throws ProblemError outdated_runner
 */
export async function requireProtocol(
  { env }: Services,
  protocol: number,
  origin: string,
): Promise<void> {
  if (protocol === RUNNER_PROTOCOL) return;
  const { version } = (await readManifest(env)).runner;
  throw new ProblemError(
    "outdated_runner",
    `This deployment uses runner protocol ${RUNNER_PROTOCOL}, the runner uses ${protocol}. Start the deployment's runner: ${runCommand(origin, version)}`,
  );
}

/** @throws ProblemError forbidden, not_found, conflict, session_superseded, unauthenticated, unavailable */
export async function beginSession(
  services: Services,
  caller: RunnerCaller,
  request: SessionRequest,
): Promise<SessionResponse> {
  const { env, db, settings } = services;
  const { version } = (await readManifest(env)).runner;
  const pool = await readServedPool(services, caller, request.hardware);
  const now = Date.now();
  const row = {
    id: uuid(),
    token_id: caller.token_id,
    name: request.name,
    hardware: request.hardware,
    pool,
    created_at: now,
    updated_at: now,
  };
  const saved = await orConflict(
    saveRunner(db, row, MAX_RUNNERS),
    isLimitReached,
    `A runner token can have at most ${MAX_RUNNERS} runners. Ask an operator to remove unused ones, or use another token.`,
  );
  if (!saved) throw unknownRunnerToken();
  const runner = runnerAt(env, saved.id);
  const presence = await runner.beginSession(uuid(), { ...request, pool });
  if (!presence)
    throw (await runner.getPresence()) ? superseded() : await shutOut(db, saved.id, caller);
  return {
    runner_id: saved.id,
    session: presence.session,
    pool,
    latest_version: version,
    settings: {
      poll_seconds: POLL_SECONDS,
      ping_seconds: settings.patience.lease_seconds / PINGS_PER_LEASE,
      lease_seconds: settings.patience.lease_seconds,
      telemetry_seconds: settings.telemetrySeconds,
    },
  };
}

/**
 * Returns why a runner is refused permanently. If it was removed and its row is still there, the removal is
 * completed.
 */
async function shutOut(db: Services["db"], id: string, { token_id }: RunnerCaller) {
  if (!(await isRunnerToken(db, token_id))) return unknownRunnerToken();
  await deleteRunner(db, id);
  runnerCache.forget(id);
  return new ProblemError(
    "unavailable",
    "This runner was removed. Register again as a new runner.",
    { "retry-after": "1" },
  );
}

/**
 * Returns a hardware class that a runner serves: `auspex-runner check` compares the machine with it.
 * @throws ProblemError forbidden, not_found
 */
export async function readServedHardware(
  services: Services,
  caller: RunnerCaller,
  identifier: string,
): Promise<Hardware> {
  requireHardware(caller, identifier);
  return getHardware(services, identifier);
}

/** @throws ProblemError forbidden, session_superseded, too_many_requests; not_found (begin a new session) */
export async function claim(
  services: Services,
  caller: RunnerCaller,
  request: ClaimRequest,
  signal: AbortSignal,
): Promise<Response> {
  await requireOwnPool(services, caller, request);
  const { token_id, token_known_at } = caller;
  const response = await claimJobs(services.env, { ...request, token_id, token_known_at }, signal);
  if (response.status === 409)
    throw refusal(reportProblem.parse(await response.json()), request.pool);
  return response;
}

/**
 * Takes the changes of a runner's state, whether it polls or not.
 * @throws ProblemError forbidden, session_superseded, too_many_requests; not_found (begin a new session)
 */
export async function reportState(
  services: Services,
  caller: RunnerCaller,
  request: StateRequest,
): Promise<SnapshotResponse> {
  await requireOwnPool(services, caller, request);
  const { token_id } = caller;
  const answer = await poolOf(services.env, request.pool).report({ ...request, token_id });
  if (typeof answer === "string") throw refusal(answer, request.pool);
  return answer;
}

/**
 * Takes the part of its log that a runner keeps, after an operator has asked for it.
 * @throws ProblemError forbidden, session_superseded, not_found
 */
export async function takeLog(
  services: Services,
  caller: RunnerCaller,
  request: RunnerLogRequest,
): Promise<void> {
  await requireOwnPool(services, caller, request);
  const why = await poolOf(services.env, request.pool).takeLog(request);
  if (why) throw refusal(why, request.pool);
}

/** @throws ProblemError session_superseded; not_found (begin a new session) */
export async function reportTelemetry(
  services: Services,
  caller: RunnerCaller,
  request: TelemetryRequest,
): Promise<TelemetryResponse> {
  await requireOwnRunner(services, caller, request.runner_id);
  const presence = await runnerAt(services.env, request.runner_id).report(request);
  if (!presence) throw notFound("The runner's session");
  if (presence.session !== request.session) throw superseded();
  if (request.state !== "ready") {
    await poolOf(services.env, presence.pool).removeRunner(request.runner_id, request.session);
  }
  return { draining: presence.draining };
}

/** @throws ProblemError not_found */
export function openJobChannel({ env }: Services, holder: LeaseHolder): Promise<Response> {
  return openChannel(leasedPrediction(env, holder), holder);
}

/** @throws ProblemError not_found when the attempt has ended */
export async function readJobInput(
  services: Services,
  holder: LeaseHolder,
): Promise<string | ReadableStream> {
  const found = await leasedPrediction(services.env, holder).input(holder);
  if (!found) throw notFound("An attempt with this lease");
  const { id, input } = found;
  const pieces = typeof input === "string" ? [`{"input":${input}}`] : ['{"input":', input, "}"];
  return jsonBodyOf(services, id, pieces);
}

async function requireOwnPool(
  services: Services,
  caller: RunnerCaller,
  request: Pick<StateRequest, "runner_id" | "pool">,
): Promise<void> {
  const pool = await requireOwnRunner(services, caller, request.runner_id);
  if (pool === request.pool) return;
  throw new ProblemError(
    "forbidden",
    `This runner's session is for the pool '${pool}', not for '${request.pool}'.`,
  );
}

/** @returns the pool of its session */
async function requireOwnRunner(
  services: Services,
  caller: RunnerCaller,
  id: string,
): Promise<string> {
  const row = await runnerCache.get(services, id);
  if (row?.token_id !== caller.token_id) throw notFound("A runner of this token with this id");
  return row.pool;
}

/** The prediction of a lease. @throws ProblemError not_found */
export function leasedPrediction(env: Services["env"], holder: LeaseHolder): PredictionStub {
  const lease = parseLease(holder.lease);
  const stub = lease && predictionWithId(env, lease.objectId);
  if (!stub) throw notFound("An attempt with this lease");
  return stub;
}

/**
 * Passes each report to its prediction. A report that cannot be taken, or not soon, does not hold up the
 * others.
 */
export async function takeReports(
  services: Services,
  { token_id, token_known_at }: RunnerCaller,
  { reports }: ReportsRequest,
): Promise<ReportsResponse> {
  const replies = reports.map(({ lease, frame }) =>
    takeReport(services, { lease, token_id, token_known_at }, frame),
  );
  return { replies: await Promise.all(replies) };
}

async function takeReport(
  { env }: Services,
  holder: LeaseHolder,
  frame: string,
): Promise<ReportReply> {
  try {
    const prediction = leasedPrediction(env, holder);
    const reporting = async (): Promise<ReportReply> => prediction.report(holder, frame);
    const reply = await withTimeout(reporting(), "prediction");
    return reply ?? refused("The prediction does not reply.");
  } catch (error) {
    if (error instanceof ProblemError) return refused(error.message);
    throw error;
  }
}

const refused = (reason: string): ReportReply => ({ type: "refused", reason });
