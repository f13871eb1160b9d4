/**
 * The operations that Cloudflare bills, with their list prices (2026-11, beyond those that the plan
 * includes). Left out are those that no local count has: the Worker's CPU time, $0.02 for a million ms, and
 * storage.
 */
import { z } from "zod";

export const operations = z.object({
  worker_requests: z.number(),
  /** Calls of objects and alarms. */
  object_requests: z.number(),
  /** WebSocket messages to objects: 20 are billed as one request. */
  object_messages: z.number(),
  /** Time that prediction objects cannot sleep, ms (worker/awake.ts). */
  object_ms: z.number(),
  object_rows_read: z.number(),
  /** Deletes count, too; each alarm that is set is one. */
  object_rows_written: z.number(),
  d1_rows_read: z.number(),
  d1_rows_written: z.number(),
  /** Each message is written, read and deleted. */
  queue_operations: z.number(),
  /** Lines of the log: invocation logs are off (wrangler.toml). */
  log_events: z.number(),
});
export type Operations = z.infer<typeof operations>;

/** The answer of the counting Worker. */
export const look = z.object({
  counts: operations,
  /** Objects that have deleted all their data: the end of a prediction's data. */
  emptied: z.number(),
  /** Messages that were sent and not yet consumed. */
  queued: z.number(),
});
export type Look = z.infer<typeof look>;

const MILLION = 1e6;
/** An object is billed as 128 MB, in decimal GB. */
const OBJECT_GB = 0.128;

/**
 * Dollars for one operation. Log events are billed by size from 2026-12 on, which is less for all below 2.4
 * KB.
 */
const PRICES: Record<keyof Operations, number> = {
  worker_requests: 0.3 / MILLION,
  object_requests: 0.15 / MILLION,
  object_messages: 0.15 / 20 / MILLION,
  object_ms: (12.5 / MILLION) * (OBJECT_GB / 1000),
  object_rows_read: 0.001 / MILLION,
  object_rows_written: 1 / MILLION,
  d1_rows_read: 0.001 / MILLION,
  d1_rows_written: 1 / MILLION,
  queue_operations: 0.4 / MILLION,
  log_events: 0.6 / MILLION,
};

export const KINDS = operations.keyof().options;

export const dollars = (counted: Operations, kind: keyof Operations): number =>
  counted[kind] * PRICES[kind];

/** Returns the dollars for a million of such predictions. */
export const aMillion = (counted: Operations): number =>
  MILLION * KINDS.reduce((sum, kind) => sum + dollars(counted, kind), 0);

/** Returns the operations that count against the limit of object requests. */
export const objectRequests = ({ object_requests, object_messages }: Operations): number =>
  object_requests + object_messages / 20;

export const rowsWritten = ({ object_rows_written, d1_rows_written }: Operations): number =>
  object_rows_written + d1_rows_written;

/** Returns the operations between two looks, for each of `count` predictions. */
export function perPrediction(before: Operations, after: Operations, count: number): Operations {
  const share = (kind: keyof Operations) => (after[kind] - before[kind]) / count;
  return operations.parse(Object.fromEntries(KINDS.map((kind) => [kind, share(kind)])));
}
