/** What becomes of a promise that fails while nobody waits for it. */
import type { Log } from "./log.ts";

/**
 * Such a failure is a defect, and by itself ends the process: with it every prediction on the
 * machine, for one whose own end does not depend on it. What has been thrown past everything
 * (`uncaughtException`) still ends the runner: nobody knows what it has left half done.
 */
export function surviveUnhandledRejections(log: Log): void {
  process.on("unhandledRejection", (reason) => {
    const error = reason instanceof Error ? reason : String(reason);
    log.error("a defect of the runner: a failure that nobody waited for", { error });
  });
}
