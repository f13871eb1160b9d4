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

/** Or until all patience is over. */
export const pause = (ground: Ground, ms: number) =>
  sleep(ms, undefined, { signal: ground.over }).catch(() => {});
