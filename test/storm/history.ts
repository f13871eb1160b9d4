/** A history of a storm as seen from outside. The promises (promises/) are checked on this alone. */
import type { Prediction, PredictionWithIO } from "../../src/protocol/prediction.ts";
import type { WebhookEvent, WebhookEventName } from "../../src/protocol/webhook.ts";
import type { WebhookPayload } from "../../src/protocol/webhook-payload.ts";
import type { Call } from "./plan/calls.ts";
import type { ChangeName } from "./plan/changes.ts";
import type { Caller, Payer } from "./plan/teams.ts";

export interface History {
  calls: MadeCall[];
  /** Each fault, its time (unix ms), and its duration, ms. */
  faults: { at: number; what: string; ms: number }[];
  sightings: Sighting[];
  looks: Look[];
  readings: Reading[];
  /** Answers that no caller should get. */
  oddities: Oddity[];
  endpoints: Endpoint[];
  deliveries: Delivery[];
  ends: End[];
  changes: AccessChange[];
  lists: CallerList[];
  /** Budgets as they were seen during the storm. */
  budgetLooks: BudgetLook[];
  money: Money[];
  leftovers: Leftovers[];
}

/** Amounts in billionths. */
export interface BudgetLook {
  account: Payer;
  limit: number;
  spent: number;
  reserved: number;
}

/** The budget of an account after the storm, the cost in its usage, and the sum of the costs of its predictions. */
export interface Money extends BudgetLook {
  usage: number;
  cost: number;
  predictions: number;
}

export interface AccessChange {
  what: ChangeName;
  /** The time of its answer, unix ms. Null: it was not carried out yet. */
  doneAt: number | null;
}

/** The predictions that a caller lists after the storm. Null: it was refused. */
export interface CallerList {
  by: Caller;
  ids: string[] | null;
}

export interface MadeCall {
  call: Call;
  /** The number of times that its create was sent. */
  sent: number;
  /** Each answer that named a prediction; times are unix ms. */
  accepted: { id: string; at: number }[];
  /** Answers to its cancel. */
  cancels: { id: string; status: number; at: number }[];
  /** The secret of the webhook's signatures. */
  secret?: string;
  /** The text of a chat or a response, if its caller read it to the end. */
  heard?: string;
}

/** A state of a prediction that a caller has seen. */
export interface Sighting {
  id: string;
  by: "create" | "get" | "list";
  status: Prediction["status"];
  /** The times of the request and of the answer, unix ms. */
  askedAt: number;
  seenAt: number;
  /**
   * The final state without its input and the signatures of addresses; undefined for other states and for
   * lists.
   */
  body?: string;
}

/** The newest page of an account's list, without filters, so it has all recent predictions. */
export interface Look {
  account: Payer;
  askedAt: number;
  /** The oldest prediction on the page; empty if the page has all. IDs sort by their creation. */
  since: string;
  ids: string[];
}

export interface Event {
  id: number;
  event: string;
  data: unknown;
}

export type ConnectionEnd = "end" | "left" | "broken" | "silent" | "refused";

/** A reader's events of a log, over all its connections. */
export interface Reading {
  id: string;
  /** The log of the prediction, or that of the response. */
  log: "events" | "response";
  reader: string;
  by: Caller;
  events: Event[];
  connections: {
    at: number;
    after: number;
    events: number;
    /** The time of the last event, unix ms. */
    lastAt?: number;
    ended: ConnectionEnd;
    why?: string;
  }[];
  /** True if the reader saw the end and got the answer that nothing follows. */
  complete: boolean;
  /** True if the reader broke off and started again: this reading has a beginning of the log. */
  given_up?: true;
}

export interface Oddity {
  what: string;
  answer: string;
  at: number;
  id?: string;
  n?: number;
}

/** An endpoint of an account, which gets the events of all its predictions. */
export interface Endpoint {
  id: string;
  account: Payer;
  path: string;
  events: WebhookEventName[];
  /** Each delivery is signed with each secret. */
  secrets: string[];
}

/** A webhook that the receiver got. */
export interface Delivery {
  /** The endpoint of the delivery; null: the prediction's own webhook. */
  endpoint_id: string | null;
  at: number;
  /** True, or the reason why it does not verify. */
  verified: true | string;
  payload: WebhookPayload;
}

/** The final state of a prediction, from every side. */
export interface End {
  id: string;
  account: Payer;
  /** Null if there is no object. */
  object: PredictionWithIO | null;
  row: Prediction | null;
  exported: PredictionWithIO | null;
  /** The log, read again from the beginning. */
  log: Event[];
  /** The log of a response in the background. */
  response?: Event[];
  webhooks: WebhookEvent[];
  /** A hash of the pixels of its picture. */
  picture?: string;
}

/** Leftovers that are still there after everything has been removed. */
export interface Leftovers {
  what: (typeof LEFTOVERS)[number];
  /** How many things were looked at. */
  looked: number;
  /** The places of the leftovers. */
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
