/** A history that keeps all promises, and has an example of each. */
import type { Prediction, PredictionWithIO } from "../../../src/protocol/prediction.ts";
import { listed } from "../../journey/support/listed.ts";
import {
  type End,
  type Event,
  type History,
  LEFTOVERS,
  type MadeCall,
  type Reading,
} from "../history.ts";
import type { Call, Work } from "../plan/calls.ts";
import { CALLERS } from "../plan/teams.ts";
import { digest } from "../state.ts";
import { checkAll } from "./all.ts";

const TIME = "2026-11-25T09:00:00.000Z";
const AT = Date.parse(TIME);

export const PICTURES = ["the picture"];

const idOf = (n: number) => `01a211fd-fb6e-7768-b658-88873200000${n}`;

interface Sample {
  work: Work;
  output: PredictionWithIO["output"];
  status?: "canceled";
  by?: Call["by"];
}

/**
 * A greeting, a stream, a chat, a picture, a cancelled prediction, and a response; then greetings of a removed
 * member and of a developer, under one key.
 */
const WORKS: Sample[] = [
  { work: { kind: "hello", wait: 0 }, output: "Hello, storm-0-!" },
  { work: { kind: "stream", tokens: 2, every: 0, text: 0 }, output: ["The", " Queen"] },
  { work: { kind: "chat", streamed: true, words: 2, every: 0, leaves: false }, output: ["…"] },
  { work: { kind: "picture", uploaded: true, colours: 0 }, output: "/v1/files/a/b.png" },
  {
    work: { kind: "sums", wait: 5, cancels: true, seconds: 5, numbers: [1, 2] },
    output: null,
    status: "canceled",
  },
  { work: { kind: "response", background: true, words: 2, every: 0 }, output: ["…"] },
  { work: { kind: "hello", wait: 0 }, output: "Hello, storm-6-!", by: "cyd@acme" },
  { work: { kind: "hello", wait: 0 }, output: "Hello, storm-7-!", by: "bob@acme" },
];

/** The endpoint of the account, which gets the events of all predictions. */
export const ENDPOINT = "an endpoint";

export const GREETING = 0;
export const STREAM = 1;
export const CHAT = 2;
export const PICTURE = 3;
export const CANCELED = 4;
export const RESPONSE = 5;
export const REMOVED = 6;
export const DEVELOPER = 7;

export function calmHistory(): History {
  const history: History = {
    calls: [],
    faults: [],
    sightings: [],
    looks: [],
    readings: [],
    oddities: [],
    endpoints: [
      {
        id: ENDPOINT,
        account: "ada",
        path: "/all",
        events: ["started", "completed"],
        secrets: ["a secret"],
      },
    ],
    deliveries: [],
    ends: [],
    changes: [{ what: "removal", doneAt: AT }],
    budgetLooks: [{ account: "acme", limit: 10, spent: 4, reserved: 6 }],
    money: [
      { account: "acme", limit: 10, spent: 4, reserved: 0, usage: 4, cost: 4, predictions: 2 },
    ],
    lists: [
      { by: "ada", ids: WORKS.flatMap(({ by }, n) => (by ? [] : [idOf(n)])) },
      { by: "cyd@acme", ids: null },
      { by: "bob@acme", ids: [idOf(REMOVED), idOf(DEVELOPER)] },
    ],
    leftovers: LEFTOVERS.map((what) => ({ what, looked: 1, found: [] })),
  };
  history.looks.push({
    account: "ada",
    askedAt: AT + 60_000,
    since: "",
    ids: WORKS.map((_, n) => idOf(n)),
  });
  for (const [n, { work, output, status = "succeeded", by = "ada" }] of WORKS.entries()) {
    const { account } = CALLERS[by];
    const object = predictionOf(n, status, output);
    const { id } = object;
    const log = logOf(object);
    const response = work.kind === "response" ? responseOf() : undefined;
    history.calls.push(callOf(n, work, id, by));
    history.sightings.push(
      { id, by: "create", status: "pending", askedAt: AT, seenAt: AT + 10 },
      { id, by: "get", status, askedAt: AT + 20, seenAt: AT + 30, body: digest(object) },
      { id, by: "get", status, askedAt: AT + 40, seenAt: AT + 50, body: digest(object) },
      { id, by: "list", status: "started", askedAt: AT + 45, seenAt: AT + 55 },
      { id, by: "list", status, askedAt: AT + 60, seenAt: AT + 70 },
      { id, by: "list", status, askedAt: AT + 80, seenAt: AT + 90 },
    );
    history.readings.push(newReading(id, "events", log, by));
    if (response) history.readings.push(newReading(id, "response", response, by));
    history.ends.push({
      id,
      account,
      object,
      row: listed(object),
      exported: object,
      log,
      ...(response && { response }),
      ...(work.kind === "picture" && { picture: PICTURES[0] }),
      webhooks: [],
    });
  }
  at(history.calls, GREETING).secret = "a secret";
  tell(history, GREETING, null, "completed");
  tell(history, GREETING, null, "started");
  for (const [n, { by }] of WORKS.entries()) {
    if (by) continue;
    tell(history, n, ENDPOINT, "started");
    tell(history, n, ENDPOINT, "completed");
  }
  at(history.calls, CHAT).heard = "storm-2-0 storm-2-1 ";
  at(history.calls, CANCELED).cancels.push({ id: idOf(CANCELED), status: 202, at: AT });
  return history;
}

export function at<Of>(all: Of[], n: number): Of {
  const one = all.at(n);
  if (one === undefined) throw new Error(`there is no ${n}`);
  return one;
}

function predictionOf(
  n: number,
  status: Prediction["status"],
  output: PredictionWithIO["output"],
): PredictionWithIO {
  return {
    id: idOf(n),
    model: { owner: "ada", name: "model", version_number: 1 },
    created_at: TIME,
    updated_at: TIME,
    status,
    setup_time: null,
    execution_time: null,
    error: null,
    metrics: null,
    cost: null,
    url: `http://127.0.0.1:1/v1/predictions/${idOf(n)}`,
    stream: false,
    created_by: null,
    data_removed: false,
    input: { mark: `storm-${n}-` },
    output: n === 4 ? null : output,
  };
}

function logOf(object: PredictionWithIO): Event[] {
  const outputs = [object.output].flat();
  return [
    { event: "status", data: { status: "pending" } },
    { event: "status", data: { status: "started", attempt: 1 } },
    ...outputs.map((data) => ({ event: "output", data })),
    { event: "status", data: { status: object.status } },
    { event: "done", data: listed(object) },
  ].map((event, n) => ({ id: n + 1, ...event }));
}

const responseOf = (): Event[] =>
  ["created", "output_text.delta", "completed"].map((event, id) => ({
    id,
    event: `response.${event}`,
    data: { delta: event === "output_text.delta" ? "word" : undefined },
  }));

const callOf = (n: number, work: Work, id: string, by: Call["by"]): MadeCall => ({
  call: { ...PLAIN, by, account: CALLERS[by].account, n, mark: `storm-${n}-`, work },
  sent: 2,
  accepted: [
    { id, at: AT },
    { id, at: AT },
  ],
  cancels: [],
});

const PLAIN: Omit<Call, "n" | "mark" | "work" | "by" | "account"> = {
  at: 0,
  key: 0,
  overCable: false,
  boxed: false,
  parallel: 2,
  webhook: undefined,
  cancelAfter: undefined,
  readers: [],
};

/** Returns a reading whose reader left after the first event and resumed. */
const newReading = (id: string, log: Reading["log"], events: Event[], by: Call["by"]): Reading => ({
  id,
  log,
  reader: "creator",
  by,
  events: [...events],
  connections: [
    { at: AT, after: 0, events: 1, ended: "left" },
    { at: AT, after: 1, events: events.length - 1, ended: "end" },
  ],
  complete: true,
});

/** Adds a delivery of an event, which succeeds at the second try. */
function tell(
  { deliveries, ends }: History,
  n: number,
  endpoint_id: string | null,
  event: "started" | "completed",
): void {
  const { object, webhooks } = at(ends, n);
  if (!object) throw new Error("it is gone");
  const sequence = event === "started" ? 2 : 5;
  const webhook = { id: `evt_${object.id}_${sequence}`, event, sequence, created_at: TIME };
  const times = [AT + 10 * sequence, AT + 10 * sequence + 5];
  const attempts = times.map((at) => {
    const payload = { ...object, data_omitted: false, webhook };
    deliveries.push({ endpoint_id, at, verified: true, payload });
    return {
      at: new Date(at).toISOString(),
      status: 200,
      duration_ms: 2,
      error: null,
      response: null,
    };
  });
  const delivery = { endpoint_id, url: null, state: "delivered" as const, next_attempt_at: null };
  webhooks.push({ ...webhook, deliveries: [{ ...delivery, attempts }] });
}

// ---- to break it

export const brokenIn = (history: History) =>
  checkAll(history, PICTURES).flatMap(({ name, breaches }) =>
    breaches.map(({ what, id }) => ({ name, what, id })),
  );

export const LISTS = "lists are 5 s behind at most, unless the control plane broke";
export const READERS = "each reader saw each event once, in order, to the end";

export const objectOf = (history: History, n: number) => {
  const { object } = at(history.ends, n);
  if (!object) throw new Error("it is gone");
  return object;
};

/** Returns the reading of a prediction's events: the reading of the response comes after them. */
export const readingOf = (history: History, n: number): Reading => at(history.readings, n);

/** Replaces the events of a log and of its reading. */
export function relog(
  { ends, readings }: History,
  n: number,
  change: (log: Event[]) => Event[],
): void {
  at(ends, n).log = change(at(ends, n).log);
  at(readings, n).events = change(at(readings, n).events);
}

/** Adds a list's state of the first prediction, `ms` after its end. */
export function look({ sightings, ends }: History, status: Prediction["status"], ms: number): void {
  const askedAt = AT + ms;
  sightings.push({ id: at(ends, GREETING).id, by: "list", status, askedAt, seenAt: askedAt });
}

export const edit = (history: History, n: number, changes: Partial<End>) =>
  Object.assign(at(history.ends, n), changes);
