/**
 * Whether a Cog container has outlived a run that failed in it: the model may have died with the
 * run. Cog up to 0.13 then ends by itself, but says READY and takes predictions, which it fails,
 * for about 50 ms more; 0.14 to 0.16 says DEFUNCT and answers 500, 0.17 and later UNHEALTHY.
 */
import { sleep } from "../../../../src/lib/timeout.ts";
import { type ContainerClient, isConnectionError } from "../container-client.ts";
import type { Timing } from "../interface.ts";
import { health, parseAs } from "./protocol.ts";

/** What Cog says itself of a run whose process is ended, in all versions: nothing is to be awaited. */
const CRASHED =
  /^(Prediction failed for an unknown reason\. It might have run out of memory\?|Worker crashed$|Slot (socket error|dropped))/;

const BROKEN_STATUSES = ["DEFUNCT", "UNHEALTHY", "SETUP_FAILED"];

/** Milliseconds: for one answer, and between two looks. */
const ANSWER_TIMEOUT_MS = 2_000;
const POLL_MS = 50;

/** Never rejects. `ended`: the container has ended. */
export async function survivesFailure(
  error: string,
  client: ContainerClient,
  { failureWatchMs }: Pick<Timing, "failureWatchMs">,
  ended: AbortSignal,
): Promise<boolean> {
  if (CRASHED.test(error)) return false;
  const startedAt = performance.now();
  do {
    if (await isBroken(client)) return false;
  } while ((await sleep(POLL_MS, ended)) && performance.now() - startedAt < failureWatchMs);
  return !ended.aborted;
}

/** One that is merely slow to answer may be busy with other runs. */
async function isBroken(client: ContainerClient): Promise<boolean> {
  try {
    const call = { method: "GET", path: "/health-check", timeoutMs: ANSWER_TIMEOUT_MS } as const;
    const reported = parseAs(health, (await client.call(call)).body);
    return reported !== undefined && BROKEN_STATUSES.includes(reported.status);
  } catch (error) {
    return isConnectionError(error);
  }
}
