/** The meter. The Worker and the objects share one isolate here, and so these numbers. */
import type { Look, Operations } from "../prices.ts";

export const counts: Operations = {
  worker_requests: 0,
  object_requests: 0,
  object_messages: 0,
  object_ms: 0,
  object_rows_read: 0,
  object_rows_written: 0,
  d1_rows_read: 0,
  d1_rows_written: 0,
  queue_operations: 0,
  log_events: 0,
};

/** Numbers that show from outside whether more operations will come. */
export const progress: Omit<Look, "counts"> = { emptied: 0, queued: 0 };

/** Counts all lines, because every line is billed, and prints only warnings and errors. */
export function countLines(): void {
  for (const level of ["debug", "log", "info", "warn", "error"] as const) {
    const write = console[level].bind(console);
    console[level] = (...line: unknown[]) => {
      counts.log_events += 1;
      if (level === "warn" || level === "error") write(...line);
    };
  }
}
