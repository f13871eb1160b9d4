/** Logs of predictions and their events as responses, checked against the published schemas. */
import { expect } from "vitest";
import type { ResponseHead } from "../../../src/domain/openai/response-resource.ts";
import { ResponseStream, type StreamEvent } from "../../../src/domain/openai/response-stream.ts";
import type { LogEntry } from "../../../src/domain/openai/translation.ts";
import type { Json } from "../../../src/protocol/common.ts";
import { expectResponse, expectResponseEvent } from "../../published/validate.ts";

const HEX = "01980c3e7b0a7c5e9d523f6a1b2c4d5e";
export const ID = `resp_${HEX}`;

export const headWith = (request: Record<string, Json> = {}): ResponseHead => ({
  id: ID,
  created_at: 1_790_000_000,
  model: "demo/story",
  request: { model: "demo/story", input: "Hello", ...request },
});

export const pending: LogEntry = { event: "status", data: { status: "pending" } };
export const started: LogEntry = { event: "status", data: { status: "started", attempt: 1 } };
export const output = (data: Json): LogEntry => ({ event: "output", data });

export const END = {
  status: "succeeded",
  updated_at: "2026-11-21T08:00:09.700Z",
  metrics: null,
  error: null,
} as const;

export const done = (fields: Record<string, Json> = {}): LogEntry => ({
  event: "done",
  data: { ...END, ...fields },
});

export const failed = (message: string, detail: Json = null): LogEntry =>
  done({ status: "failed", error: { source: "external", message, detail } });

export const delta = (fields: Record<string, Json>, finish_reason: string | null = null): Json => ({
  choices: [{ index: 0, delta: fields, finish_reason }],
});

/** Returns the log of a whole run with the usual start, these outputs and this end. */
export const logOf = (outputs: Json[], end = done()) => [
  pending,
  started,
  ...outputs.map(output),
  end,
];

interface Told {
  events: StreamEvent[];
  types: string[];
  resource: ReturnType<ResponseStream["resource"]>;
}

/** Returns the events and the response of a log, after checking each event and the end. */
export function tell(log: LogEntry[], request: Record<string, Json> = {}): Told {
  const told = tellUnchecked(log, request);
  expectResponse(told.resource);
  for (const event of told.events) expectResponseEvent(event);
  return told;
}

/** Like `tell`, without the published schemas, whose checks are slow. */
export function tellUnchecked(log: LogEntry[], request: Record<string, Json> = {}): Told {
  const stream = new ResponseStream(headWith(request));
  const events = log.flatMap((entry) => stream.take(entry));
  expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, n) => n));
  expectOrder(events);
  return { events, types: events.map(({ type }) => type), resource: stream.resource() };
}

/** Returns the event types, with successive pieces listed once. */
export const outline = (types: string[]) =>
  types.filter((type, n) => !(type.endsWith(".delta") && types[n - 1] === type));

const DELTAS =
  /^response\.(output_text|refusal|reasoning_text|function_call_arguments)\.(delta|done)$/;

/** Expects that each item and part begins and ends, and that its pieces add up to its end. */
function expectOrder(events: StreamEvent[]): void {
  const open = new Map<unknown, string>();
  for (const { type, output_index, item, item_id, delta, ...fields } of events) {
    if (type === "response.output_item.added") open.set(output_index, "");
    else if (type === "response.content_part.added") open.set(output_index, "");
    else if (output_index !== undefined) expect([...open.keys()]).toContain(output_index);
    const [, , end] = DELTAS.exec(type) ?? [];
    if (end === "delta") open.set(output_index, open.get(output_index) + String(delta));
    if (end === "done") {
      expect(fields.text ?? fields.refusal ?? fields.arguments).toBe(open.get(output_index));
    }
    if (type === "response.output_item.done") open.delete(output_index);
  }
  const last = events.at(-1);
  if (last && "response" in last && /completed|incomplete|failed/.test(last.type)) {
    expect([...open.keys()]).toEqual([]);
    const ends = events.filter(({ type }) => type === "response.output_item.done");
    const items = ends.toSorted((a, b) => Number(a.output_index) - Number(b.output_index));
    expect(last.response).toMatchObject({ output: items.map(({ item }) => item) });
  }
}
