/** What was seen of a storm from outside. The promises are checked on this alone (promises/). */
import type { Prediction, PredictionWithIO } from "../../src/protocol/prediction.ts";
import type { WebhookEvent } from "../../src/protocol/webhook.ts";
import type { WebhookPayload } from "../../src/protocol/webhook-payload.ts";
import type { Call } from "./plan/calls.ts";

export interface History {
  calls: MadeCall[];
  /** What broke. */
  faults: { at: number; what: string }[];
  sightings: Sighting[];
  readings: Reading[];
  /** Answers that nobody should get. */
  oddities: Oddity[];
  deliveries: Delivery[];
  ends: End[];
  leftovers: Leftovers[];
}

export interface MadeCall {
  call: Call;
  /** How often its create was sent. */
  sent: number;
  /** Each answer that named a prediction; times are unix ms. */
  accepted: { id: string; at: number }[];
  /** Answers to its cancel. */
  cancels: { id: string; status: number; at: number }[];
  /** What the webhook's signatures are made with. */
  secret?: string;
  /** What a chat's caller has heard, if to its end. */
  heard?: string;
}

/** A state of a prediction that somebody was told. */
export interface Sighting {
  id: string;
  by: "create" | "get" | "list";
  status: Prediction["status"];
  /** When it was asked for and when it was answered, unix ms. */
  askedAt: number;
  seenAt: number;
  /** The answer as a whole, but for its input and the signatures of addresses: only of final ones, and none of a list. */
  body?: string;
}

export interface Event {
  id: number;
  event: string;
  data: unknown;
}

export type ConnectionEnd = "end" | "left" | "broken" | "silent" | "refused";

/** What a reader of a log got, over all its connections. */
export interface Reading {
  id: string;
  /** Of the prediction's stream, or of the response's. */
  log: "events" | "response";
  reader: string;
  events: Event[];
  connections: { at: number; after: number; events: number; ended: ConnectionEnd; why?: string }[];
  /** It has seen the end and was told that nothing follows. */
  complete: boolean;
}

export interface Oddity {
  what: string;
  answer: string;
  at: number;
  id?: string;
  n?: number;
}

/** A webhook that the receiver got. */
export interface Delivery {
  /** Of the call that asked for it. */
  n: number;
  at: number;
  /** Or why not. */
  verified: true | string;
  payload: WebhookPayload;
}

/** A prediction as it is at the end, from every side. */
export interface End {
  id: string;
  account: Call["account"];
  /** Null: there is none. */
  object: PredictionWithIO | null;
  row: Prediction | null;
  exported: PredictionWithIO | null;
  /** Read again from the beginning. */
  log: Event[];
  /** Of a response in the background. */
  response?: Event[];
  webhooks: WebhookEvent[];
  /** The pixels of the picture that it has made, as a hash. */
  picture?: string;
}

/** What is still there although everything has been removed. */
export interface Leftovers {
  what: (typeof LEFTOVERS)[number];
  /** How many things were looked at. */
  looked: number;
  /** Where they are. */
  found: string[];
}

export const LEFTOVERS = [
  "model process",
  "file of a runner",
  "runner that died by itself",
  "stored file",
  "upload under way",
  "prediction object",
  "alarm that goes on",
  "waiting job",
] as const;
