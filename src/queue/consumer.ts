/** The consumers of the queues: each message is acknowledged or retried. */
import type { z } from "zod";
import { backoffMs } from "../lib/retry.ts";
import { logger } from "../log.ts";
import { poolOf } from "../objects/stubs/pool.ts";
import { CollectorBusy, postSpans } from "../outbound/spans.ts";
import { accountMessage, dispatchMessage, type WaitingJob } from "../protocol/queue.ts";
import { traceMessage } from "../protocol/traces.ts";
import { saveUsage } from "../services/accounts/deployment-usage.ts";
import { endStart } from "../services/deployments/claims.ts";
import { countPredictions } from "../services/models/models.ts";
import type { Services } from "../services/services.ts";

/**
 * Dispatches jobs with one call per pool for the whole batch. If a pool fails, only its messages are retried.
 */
export async function dispatch({ env }: Services, batch: MessageBatch): Promise<void> {
  const pools = Map.groupBy(parsedMessages(batch, dispatchMessage), ({ body }) => body.pool);
  await Promise.all(
    [...pools].map(async ([pool, messages]) => {
      const jobs: WaitingJob[] = messages.map(({ body }) => body);
      try {
        await poolOf(env, pool).enqueue(jobs);
        for (const { message } of messages) message.ack();
      } catch (error) {
        logger.warn("Jobs not enqueued", { pool, count: jobs.length, error });
        for (const { message } of messages) message.retry({ delaySeconds: backoff(message) });
      }
    }),
  );
}

/** Writes all counts in one transaction, and all usage in another, and records the end of each start. */
export async function count(services: Services, batch: MessageBatch): Promise<void> {
  const messages = parsedMessages(batch, accountMessage);
  const counts = messages.filter(({ body }) => !("deployment_id" in body));
  await settled(counts, async () => {
    const bodies = counts.map(({ body }) => body);
    await countPredictions(
      services,
      bodies.filter((body) => "model_id" in body),
    );
    await saveUsage(
      services,
      bodies.filter((body) => "day" in body),
    );
  });
  // A start that is recorded again counts twice, so the failure of one does not repeat the others.
  for (const { message, body } of messages)
    if ("deployment_id" in body) await settled([{ message }], () => endStart(services, body));
}

/** Acknowledges messages once their work is done; if it fails, they are delivered again. */
async function settled(messages: { message: Message }[], work: () => Promise<void>): Promise<void> {
  if (messages.length === 0) return;
  try {
    await work();
    for (const { message } of messages) message.ack();
  } catch (error) {
    logger.warn("Messages of accounts not processed", { count: messages.length, error });
    for (const { message } of messages) message.retry({ delaySeconds: backoff(message) });
  }
}

/** The first delay between two requests to a collector, and the longest that its Retry-After can request. */
const COLLECTOR_BACKOFF = { baseMs: 15_000, maxMs: 300_000 };
const MAX_RETRY_AFTER_MS = 60_000;

/** Exports the spans of a batch in one request. Those that the collector refuses are dropped. */
export async function exportTraces({ settings }: Services, batch: MessageBatch): Promise<void> {
  const messages = parsedMessages(batch, traceMessage);
  const spans = messages.flatMap(({ body }) => body.spans);
  if (!settings.traces || spans.length === 0) return batch.ackAll();
  try {
    const rejected = await postSpans(settings.traces, spans);
    if (rejected > 0) logger.warn("Spans rejected by the collector", { rejected });
    batch.ackAll();
  } catch (error) {
    logger.warn("Spans not exported", { count: spans.length, error });
    if (!(error instanceof CollectorBusy)) return batch.ackAll();
    const askedMs = Math.min(error.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS);
    for (const { message } of messages) {
      const delayMs = Math.max(askedMs, backoffMs(message.attempts, COLLECTOR_BACKOFF));
      message.retry({ delaySeconds: Math.ceil(delayMs / 1_000) });
    }
  }
}

interface ParsedMessage<Body> {
  message: Message;
  body: Body;
}

/** Parses messages. A message that does not fit its schema never will: it is logged and dropped. */
function parsedMessages<Schema extends z.ZodType>(
  batch: MessageBatch,
  schema: Schema,
): ParsedMessage<z.infer<Schema>>[] {
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

/** The delay of a retry: 1 s, doubling, at most a minute, with jitter. */
const backoff = ({ attempts }: Message) =>
  Math.ceil(backoffMs(attempts, { baseMs: 1_000, maxMs: 60_000 }) / 1_000);
