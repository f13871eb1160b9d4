/**
 * A version after its first start. What its server has told comes with the run's end, and the service
 * takes it into the version a moment after it has told that end.
 */
import { sleep } from "../../lib/timeout.ts";
import type { Version } from "../../protocol/model.ts";

const AGAIN_MS = 500;
/** One whose server has told nothing stays as it is. */
const PATIENCE_MS = 5_000;

/** @returns it as it is then, complete or not. @throws the signal's reason */
export async function completedVersion(
  read: () => Promise<Version>,
  signal: AbortSignal,
): Promise<Version> {
  const until = Date.now() + PATIENCE_MS;
  for (;;) {
    const found = await read();
    if (found.status === "ready" || Date.now() >= until) return found;
    await sleep(AGAIN_MS, signal);
    signal.throwIfAborted();
  }
}
