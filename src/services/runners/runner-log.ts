/** The end of a runner's own log, which its pool asks it for (objects/pool/runner-logs.ts). */
import { isOffline } from "../../domain/runners/silence.ts";
import { LOG_ASKED_MS, type ReportedRunnerLog } from "../../objects/pool/rpc-types.ts";
import type { RunnerState } from "../../protocol/fleet.ts";
import type { RunnerLog } from "../../protocol/runner-log.ts";
import { findRunner } from "../../storage/runners/runners.ts";
import type { Services } from "../services.ts";
import { withTimeout } from "../with-timeout.ts";
import { unknownRunner } from "./fleet.ts";
import { findMadePool } from "./pools.ts";
import { readStates } from "./runner-states.ts";

/** How long to wait for the log, which is longer than a pool waits for a runner. */
const ASK_MS = 5_000;
const ANSWER_MS = 2_000;

/**
 * Asks for the log, and returns as soon as it has come, or after some seconds.
 * @throws ProblemError not_found
 */
export async function askForRunnerLog(services: Services, id: string): Promise<void> {
  const { pool } = await existing(services, id);
  const stub = await findMadePool(services, pool);
  if (stub) await withTimeout(stub.askForLog(id), `pool ${pool}`, ASK_MS);
}

export interface KnownLog {
  runner: RunnerState;
  /** The log. Null: the pool did not answer. */
  log: RunnerLog | null;
}

/** @throws ProblemError not_found */
export async function readRunnerLog(services: Services, id: string): Promise<KnownLog> {
  const row = await existing(services, id);
  const [[runner], stub] = await Promise.all([
    readStates(services, [row], ANSWER_MS),
    findMadePool(services, row.pool),
  ]);
  if (!runner) throw unknownRunner(id);
  // A pool that was never used has no object, so nobody has asked for the log.
  const told = stub
    ? await withTimeout(stub.log(id), `pool ${row.pool}`, ANSWER_MS)
    : { asked_at: null, at: null, lines: [] };
  return { runner, log: told ? present(told, runner) : null };
}

function present({ asked_at, at, lines }: ReportedRunnerLog, runner: RunnerState): RunnerLog {
  const isAsked = asked_at !== null && Date.now() - asked_at < LOG_ASKED_MS;
  return {
    waiting: isAsked && !isOffline(runner),
    asked_at: asked_at === null ? null : timeOf(asked_at),
    sent_at: at === null ? null : timeOf(at),
    lines: lines.map((line) => ({ ...line, at: timeOf(line.at) })),
  };
}

const timeOf = (at: number) => new Date(at).toISOString();

async function existing({ db }: Services, id: string) {
  const row = await findRunner(db, id);
  if (!row) throw unknownRunner(id);
  return row;
}
