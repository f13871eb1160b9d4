/** What was seen of a storm from outside. The promises are checked on this alone (promises/). */
import type { Prediction, PredictionWithIO } from "../../src/protocol/prediction.ts";
import type { WebhookEvent, WebhookEventName } from "../../src/protocol/webhook.ts";
import type { WebhookPayload } from "../../src/protocol/webhook-payload.ts";
import type { Call } from "./plan/calls.ts";

export interface History {
  calls: MadeCall[];
  /** What broke, when (unix ms), and for how long. */
  faults: { at: number; what: string; ms: number }[];
  sightings: Sighting[];
  looks: Look[];
  readings: Reading[];
  /** Answers that nobody should get. */
  oddities: Oddity[];
  endpoints: Endpoint[];
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
  /** What the caller of a chat or a response has heard, if to its end. */
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

/** The newest page of an account's list: without filters, so that it has all that was created since. */
export interface Look {
  account: Call["account"];
  askedAt: number;
  /** The oldest prediction on it; empty if it has all. Ids sort by when they were made. */
  since: string;
  ids: string[];
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
  /** It broke off, and whoever read it began anew: it has a beginning of the log. */
  given_up?: true;
}

export interface Oddity {
  what: string;
  answer: string;
  at: number;
  id?: string;
  n?: number;
}

/** An endpoint of an account, which is told of all its predictions. */
export interface Endpoint {
  id: string;
  account: Call["account"];
  path: string;
  events: WebhookEventName[];
  /** Each delivery is signed with each. */
  secrets: string[];
}

/** A webhook that the receiver got. */
export interface Delivery {
  /** The endpoint that it came to; null: the prediction's own webhook. */
  endpoint_id: string | null;
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
  "Docker network",
  "Docker volume",
  "firewall rule",
  "file of a runner",
  "runner that died by itself",
  "stored file",
  "upload under way",
  "prediction object",
  "alarm that goes on",
  "waiting job",
] as const;
