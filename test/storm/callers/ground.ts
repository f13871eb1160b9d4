/** What callers stand on. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../../../src/dev/client.ts";
import type { Call } from "../plan/calls.ts";
import type { Recorder } from "../recorder.ts";

export interface Ground {
  /** The account of a call, the way that it takes. */
  clientOf(call: Pick<Call, "account" | "overCable">): Client;
  recorder: Recorder;
  /** `owner/name` of the model that a call is to run. */
  modelOf(call: Pick<Call, "boxed">, name: string): string;
  /** Of webhooks, without a slash at its end. */
  receiverUrl: string;
  /** What deliveries of a call meet. */
  scriptReceiver(path: string, call: Call): void;
  /** The picture that is sent. */
  sample: string;
  /** The end of all patience: whoever still waits gives up. */
  over: AbortSignal;
}

const FACTOR = 1.5;
const MOST_MS = 3_000;

/**
 * How long to wait, longer each time: of a service that cannot keep up nobody may ask so much that it never
 * can again.
 */
export function longerEachTime(firstMs: number): () => number {
  let next = firstMs / FACTOR;
  return () => {
    next = Math.min(next * FACTOR, MOST_MS);
    return next;
  };
}

/** Or until all patience is over. */
export const pause = (ground: Ground, ms: number) =>
  sleep(ms, undefined, { signal: ground.over }).catch(() => {});
