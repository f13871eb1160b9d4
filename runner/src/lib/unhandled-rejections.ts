/** Handling of unhandled promise rejections. */
import type { Log } from "./log.ts";
import { OfRun } from "./log-ring.ts";

/**
 * An unhandled rejection is a defect. By default it ends the process, and with it every prediction
 * on the machine. Uncaught exceptions (`uncaughtException`) still end the runner, since they leave
 * its state unknown.
 */
export function surviveUnhandledRejections(log: Log): void {
  process.on("unhandledRejection", (reason) => {
    const error = reason instanceof Error ? reason : String(reason);
    log.error("unhandled rejection: a defect of the runner", { error: new OfRun(error) });
  });
}
