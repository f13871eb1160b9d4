/**
 * Limits predictions that are read as a whole, because they are translated or listed: each has up to 26 MB,
 * three times in memory while it is parsed, and an isolate has 128 MB for all requests.
 */
import { OpenRequest } from "../../domain/accounts/open-requests.ts";
import { holdForRequest } from "../../lib/current-request.ts";
import { sleep } from "../../lib/timeout.ts";
import { tooManyConnections } from "../access/concurrency-limit.ts";

/** The reads at a time, of one account and of all. Other reads wait. */
const OWN_READS = 1;
const ALL_READS = 2;
const PATIENCE_MS = 10_000;
const LOOK_MS = 50;

/**
 * @param patienceMs how long the read waits for its turn
 * @throws ProblemError too_many_requests when it is not its turn in time
 */
export async function readWhole<T>(
  userId: string,
  read: () => Promise<T>,
  patienceMs = PATIENCE_MS,
): Promise<T> {
  const leave = await turnOf(userId, patienceMs);
  try {
    return await read();
  } finally {
    leave();
  }
}

async function turnOf(userId: string, patienceMs: number): Promise<() => void> {
  const end = Date.now() + patienceMs;
  for (;;) {
    const own = OpenRequest.enter(`whole reads of ${userId}`, OWN_READS);
    const shared = own && OpenRequest.enter("whole reads", ALL_READS);
    if (own && shared) {
      const holdings = [own, shared].map(holdForRequest);
      return () => {
        for (const leave of holdings) leave();
      };
    }
    own?.leave();
    if (Date.now() >= end)
      throw tooManyConnections("Too many large responses at once. Read them one at a time.");
    await sleep(LOOK_MS);
  }
}
