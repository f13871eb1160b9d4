/** The surroundings of the callers: clients, models, receiver and recorder. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../../../src/dev/client.ts";
import type { Call } from "../plan/calls.ts";
import type { Caller } from "../plan/teams.ts";
import type { Recorder } from "../recorder.ts";

export interface Ground {
  /** Returns the client of a caller, over the cable or not. */
  clientOf(call: { by: Caller; overCable: boolean }): Client;
  recorder: Recorder;
  /** Returns the `owner/name` of the model that a call runs. */
  modelOf(call: Pick<Call, "boxed" | "account">, name: string): string;
  /** The address of the webhooks' receiver, without a slash at its end. */
  receiverUrl: string;
  /** Sets the receiver's behaviours for deliveries of a call. */
  scriptReceiver(path: string, call: Call): void;
  /** The path of the picture that is sent. */
  sample: string;
  /** Aborted at the end of the calm: all waiting callers give up. */
  over: AbortSignal;
}

const FACTOR = 1.5;
const MOST_MS = 3_000;

/**
 * Returns the time to wait, ms, longer at each call: too many requests would keep a slow service from ever
 * catching up.
 */
export function longerEachTime(firstMs: number): () => number {
  let next = firstMs / FACTOR;
  return () => {
    next = Math.min(next * FACTOR, MOST_MS);
    return next;
  };
}

/** Sleeps until the time is over, or until `over` is aborted. */
export const pause = (ground: Ground, ms: number) =>
  sleep(ms, undefined, { signal: ground.over }).catch(() => {});
