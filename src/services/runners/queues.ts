/** The queues of hardware classes: why predictions wait in them, and whose. */
import {
  classReasonText,
  type NamedClassExplanation,
  REASON_CODES,
} from "../../domain/scheduling/explanation.ts";
import type { PoolStatus } from "../../objects/stubs/pool.ts";
import type { QueueState } from "../../protocol/fleet.ts";
import { findUsernames } from "../../storage/accounts/users.ts";
import { type HardwareRow, listHardware } from "../../storage/runners/hardware.ts";
import { type Page, type PageRequest, paginate } from "../pagination.ts";
import type { Services } from "../services.ts";
import { withTimeout } from "../with-timeout.ts";
import { poolIfMade } from "./pools.ts";

type QueueRow = Pick<HardwareRow, "identifier" | "pool" | "pool_made_at">;

export const listQueues = (services: Services, request: PageRequest): Promise<Page<QueueState>> =>
  paginate(services, request, {
    name: "queues",
    find: async (keyset) => readQueues(services, await listHardware(services.db, keyset)),
    keyOf: ({ hardware }) => [hardware],
    present: (queue) => queue,
  });

/**
 * Returns the queues of some classes, in the order of the classes.
 * @param ms how long pools may take: the state of a queue whose pool takes longer is not known
 */
export async function readQueues(
  services: Services,
  rows: QueueRow[],
  ms?: number,
): Promise<QueueState[]> {
  const read = await Promise.all(
    rows.map(async (row) => ({ row, status: await readStatus(services, row, ms) })),
  );
  const waiting = read.flatMap(({ status }) => status?.explanation?.by_account ?? []);
  const ids = [...new Set(waiting.map(({ account }) => account))];
  const usernames = await findUsernames(services.db, ids);
  return read.map(({ row, status }) => queueOf(row, status, usernames));
}

const NOBODY: PoolStatus = {
  waiting: 0,
  free: 0,
  oldest_wait_ms: null,
  median_wait_ms: null,
  explanation: null,
};

/** @returns undefined if its pool does not answer in time */
async function readStatus(
  services: Services,
  { identifier, pool, pool_made_at }: QueueRow,
  ms?: number,
): Promise<PoolStatus | undefined> {
  const stub = poolIfMade(services, pool, pool_made_at);
  return stub ? withTimeout(stub.status(identifier), `pool ${pool}`, ms) : NOBODY;
}

function queueOf(
  { identifier: hardware, pool }: QueueRow,
  status: PoolStatus | undefined,
  usernames: ReadonlyMap<string, string>,
): QueueState {
  const { explanation, ...depth } = status ?? { ...NOBODY, waiting: null, free: null };
  const now = Date.now();
  return {
    hardware,
    pool,
    ...depth,
    reasons: explanation ? reasonsOf(explanation, hardware, now) : [],
    accounts: (explanation?.by_account ?? []).map(({ account, jobs, since, why }) => ({
      username: usernames.get(account) ?? null,
      waiting: jobs,
      oldest_wait_ms: Math.max(0, now - since),
      code: REASON_CODES[why],
    })),
  };
}

const reasonsOf = (
  explanation: NamedClassExplanation,
  hardware: string,
  now: number,
): QueueState["reasons"] =>
  explanation.reasons.map((reason) => ({
    code: REASON_CODES[reason.why],
    waiting: reason.jobs,
    accounts: reason.accounts,
    runners: reason.boxes.map((id) => ({ id, name: explanation.names[id] ?? id })),
    message: classReasonText(reason, explanation, hardware, now),
  }));
