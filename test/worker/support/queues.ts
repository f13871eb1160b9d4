/** Deliveries of queue messages to the Worker, and runs of its schedule. */
import {
  createExecutionContext,
  createMessageBatch,
  createScheduledController,
  getQueueResult,
  type QueueResult,
} from "cloudflare:test";
import { env } from "cloudflare:workers";
import worker from "../../../src/worker.ts";

export async function deliver(
  queue: "dispatch" | "counts" | "traces",
  ...bodies: unknown[]
): Promise<QueueResult> {
  const messages = bodies.map((body, n) => ({
    id: `m${n}`,
    timestamp: new Date(),
    attempts: 1,
    body,
  }));
  const batch = createMessageBatch(`auspex-${queue}`, messages);
  await worker.queue(batch, env);
  return getQueueResult(batch, createExecutionContext());
}

/** Runs the schedule of a minute. */
export const sweep = () =>
  worker.scheduled(createScheduledController({ scheduledTime: Date.now() }), env);
