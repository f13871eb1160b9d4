/** The meter. Worker and objects share one isolate here, and so these numbers. */
import type { Operations } from "../prices.ts";

export const counts: Operations = {
  worker_requests: 0,
  object_requests: 0,
  object_messages: 0,
  object_ms: 0,
  object_rows_written: 0,
  d1_rows_read: 0,
  d1_rows_written: 0,
  queue_operations: 0,
};

const open = new Map<string, { calls: number; since: number }>();

/** An object has one more call open; the returned function closes it. */
export function opened(object: string): () => void {
  const now = open.get(object) ?? { calls: 0, since: Date.now() };
  now.calls += 1;
  open.set(object, now);
  return () => {
    now.calls -= 1;
    if (now.calls > 0 || open.get(object) !== now) return;
    open.delete(object);
    counts.object_ms += Date.now() - now.since;
  };
}
