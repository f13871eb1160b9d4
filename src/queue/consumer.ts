/** The two queues: messages in, services out, ack or retry. */

import type { z } from "zod";
import { backoffMs } from "../lib/retry.ts";
import { logger } from "../log.ts";
import { poolOf } from "../objects/pool/stub.ts";
import { dispatchMessage, projectionMessage, type WaitingJob } from "../protocol/queue.ts";
import type { Services } from "../services/services.ts";
import { projectPredictions } from "../storage/predictions/predictions.ts";

/** One call per pool for the whole batch. A pool that fails has only its own messages retried. */
export async function dispatch({ env }: Services, batch: MessageBatch): Promise<void> {
  const pools = Map.groupBy(understood(batch, dispatchMessage), ({ body }) => body.hardware);
  await Promise.all(
    [...pools].map(async ([hardware, messages]) => {
      const jobs: WaitingJob[] = messages.map(({ body }) => body);
      try {
        await poolOf(env, hardware).enqueue(jobs);
        for (const { message } of messages) message.ack();
      } catch (error) {
        logger.warn("Jobs not enqueued", { hardware, count: jobs.length, error });
        for (const { message } of messages) message.retry({ delaySeconds: backoff(message) });
      }
    }),
  );
}

/** All rows in one transaction. */
export async function project({ db }: Services, batch: MessageBatch): Promise<void> {
  const messages = understood(batch, projectionMessage);
  try {
    await projectPredictions(
      db,
      messages.map(({ body }) => body),
    );
    for (const { message } of messages) message.ack();
  } catch (error) {
    logger.warn("Prediction rows not written", { count: messages.length, error });
    for (const { message } of messages) message.retry({ delaySeconds: backoff(message) });
  }
}

interface Understood<Body> {
  message: Message;
  body: Body;
}

/** What a schema does not know will not be understood the next time either: it is logged and dropped. */
function understood<Schema extends z.ZodType>(
  batch: MessageBatch,
  schema: Schema,
): Understood<z.infer<Schema>>[] {
  return batch.messages.flatMap((message) => {
    const result = schema.safeParse(message.body);
    if (result.success) return [{ message, body: result.data }];
    logger.error("Queue message dropped", {
      queue: batch.queue,
      message_id: message.id,
      error: result.error,
    });
    message.ack();
    return [];
  });
}

/** 1 s, doubling, at most a minute, with jitter. */
const backoff = ({ attempts }: Message) =>
  Math.ceil(backoffMs(attempts, { baseMs: 1_000, maxMs: 60_000 }) / 1_000);
