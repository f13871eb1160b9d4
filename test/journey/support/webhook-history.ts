/** The requests of a receiver as a history: repeats dropped by ID, the rest in order. */
import { expect } from "vitest";
import type { TaskStatus } from "../../../src/protocol/prediction.ts";
import {
  WEBHOOK_HEADERS,
  type WebhookPayload,
  webhookPayload,
} from "../../../src/protocol/webhook-payload.ts";
import type { Received } from "../../receiver/exchange.ts";

const RANK: Record<TaskStatus, number> = {
  pending: 0,
  started: 1,
  succeeded: 2,
  failed: 2,
  canceled: 2,
};

export const eventIdOf = ({ headers }: Received) => headers[WEBHOOK_HEADERS.id] ?? "";

/**
 * Returns the events of one prediction, each once, in the order of their sequence numbers. Checks that order.
 */
export function historyOf(received: Received[]): WebhookPayload[] {
  const byId = Map.groupBy(received.filter(isRead), eventIdOf);
  const events = [...byId].map(([id, repeats]) => {
    const [body = "", ...others] = new Set(repeats.map((one) => one.body));
    expect(others, `${id} has several bodies`).toEqual([]);
    const payload = webhookPayload.parse(JSON.parse(body));
    expect(payload.webhook.id).toBe(id);
    expect(id).toBe(`evt_${payload.id}_${payload.webhook.sequence}`);
    return payload;
  });
  events.sort((a, b) => a.webhook.sequence - b.webhook.sequence);
  for (const [n, next] of events.slice(1).entries()) {
    const before = events[n];
    if (before) expectFollows(before, next);
  }
  return events;
}

/** Whether the body was read: it is empty if the connection was reset after its headers. */
export const isRead = ({ body }: Received) => body !== "";

/** Checks that no status goes back, and that no output is taken back. */
function expectFollows(before: WebhookPayload, next: WebhookPayload): void {
  expect(next.webhook.sequence).toBeGreaterThan(before.webhook.sequence);
  expect(RANK[next.status]).toBeGreaterThanOrEqual(RANK[before.status]);
  if (Array.isArray(before.output)) {
    expect(Array.isArray(next.output) && next.output.slice(0, before.output.length)).toEqual(
      before.output,
    );
  } else if (before.output !== null) expect(next.output).toEqual(before.output);
}
