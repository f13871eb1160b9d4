/** The end of a runner's own log, which its pool asks it for (objects/pool/runner-logs.ts). */
import type { ToldRunnerLog } from "../../objects/pool/rpc-types.ts";
import type { RunnerState } from "../../protocol/fleet.ts";
import { findRunner } from "../../storage/runners/runners.ts";
import type { Services } from "../services.ts";
import { withTimeout } from "../with-timeout.ts";
import { unknownRunner } from "./fleet.ts";
import { findMadePool } from "./pools.ts";
import { readStates } from "./runner-states.ts";

/** Longer than a pool waits for a runner. */
const ASK_MS = 5_000;
const ANSWER_MS = 2_000;

/** Returns as soon as it has come, or after some seconds. @throws ProblemError not_found */
export async function askForRunnerLog(services: Services, id: string): Promise<void> {
  const { pool } = await existing(services, id);
  const stub = await findMadePool(services, pool);
  if (stub) await withTimeout(stub.askForLog(id), `pool ${pool}`, ASK_MS);
}

export interface RunnerLog {
  runner: RunnerState;
  /** Null: its pool did not answer. */
  log: ToldRunnerLog | null;
}

/** @throws ProblemError not_found */
export async function readRunnerLog(services: Services, id: string): Promise<RunnerLog> {
  const row = await existing(services, id);
  const [[runner], stub] = await Promise.all([
    readStates(services, [row], ANSWER_MS),
    findMadePool(services, row.pool),
  ]);
  if (!runner) throw unknownRunner(id);
  // Nobody has used a pool that is not there, so nobody has asked.
  if (!stub) return { runner, log: { asked_at: null, at: null, lines: [] } };
  const log = await withTimeout(stub.log(id), `pool ${row.pool}`, ANSWER_MS);
  return { runner, log: log ?? null };
}

async function existing({ db }: Services, id: string) {
  const row = await findRunner(db, id);
  if (!row) throw unknownRunner(id);
  return row;
}
