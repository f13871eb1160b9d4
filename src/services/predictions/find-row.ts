/**
 * Finds the row of a prediction. The row of a short run may be written shortly after its answer, so a young
 * id without a row is looked up again before it counts as unknown.
 */
import { RequestCounter } from "../../domain/accounts/rate-limit.ts";
import type { PredictionRow } from "../../domain/predictions/prediction-row.ts";
import { firstIdAt } from "../../lib/hex.ts";
import { backoffMs } from "../../lib/retry.ts";
import { sleep } from "../../lib/timeout.ts";
import { findAccount } from "../accounts/account-object.ts";
import type { Services } from "../services.ts";

/**
 * The age up to which an id counts as young. After this time, the object of a short run that failed to write
 * its row tries again.
 */
const YOUNG_MS = 10_000;
/** The most by which the clock of another machine may be ahead. */
const AHEAD_MS = 2_000;

/** Further look-ups of a young id, which wait 0.7 s in all at most. */
const RETRIES = 3;
const BACKOFF = { baseMs: 100, maxMs: 400 };

/** Further look-ups per account, since anybody can make up young ids: 60 a second more. */
const LIMIT = { limit: 200, seconds: 10 };

const counter = new RequestCounter();

/** @returns undefined when there is none */
export async function findRow(
  services: Services,
  userId: string,
  id: string,
): Promise<PredictionRow | undefined> {
  const find = async () => (await findAccount(services, userId))?.find(id);
  let row = await find();
  if (row || !mayCome(userId, id)) return row;
  for (let tries = 1; !row && tries <= RETRIES; tries++) {
    await sleep(backoffMs(tries, BACKOFF));
    row = await find();
  }
  return row;
}

function mayCome(userId: string, id: string): boolean {
  const now = Date.now();
  const isYoung = id >= firstIdAt(now - YOUNG_MS) && id < firstIdAt(now + AHEAD_MS);
  return isYoung && counter.count(userId, LIMIT, now).remaining > 0;
}
