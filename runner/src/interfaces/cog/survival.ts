/**
 * Whether a Cog container survived a failed run: the model may have died with it. Cog up to 0.13
 * then exits, but for about 50 ms it still says READY and accepts predictions, which it fails; 0.14
 * to 0.16 say DEFUNCT and respond with 500; 0.17 and later say UNHEALTHY.
 */

import { sleep } from "../../../../src/lib/timeout.ts";
import { parseAs } from "../bounded-json.ts";
import { type ContainerClient, isConnectionError } from "../container-client.ts";
import type { Timing } from "../interface.ts";
import { health } from "./protocol.ts";

/** Cog's own messages, in all versions, for a run whose process has died. */
const CRASHED =
  /^(Prediction failed for an unknown reason\. It might have run out of memory\?|Worker crashed$|Slot (socket error|dropped))/;

const BROKEN_STATUSES = ["DEFUNCT", "UNHEALTHY", "SETUP_FAILED"];

/** The timeout of a health check, and the pause between two. */
const ANSWER_TIMEOUT_MS = 2_000;
const POLL_MS = 50;

/** Never rejects. `ended`: aborted when the container has ended. */
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

/** A timeout is no proof: the container may be busy with other runs. */
async function isBroken(client: ContainerClient): Promise<boolean> {
  try {
    const call = { method: "GET", path: "/health-check", timeoutMs: ANSWER_TIMEOUT_MS } as const;
    const reported = parseAs(health, (await client.call(call)).body);
    return reported !== undefined && BROKEN_STATUSES.includes(reported.status);
  } catch (error) {
    return isConnectionError(error);
  }
}
