/** Sample destinations, events and outcomes for tests of the outbox. */

import { initialState, presentPrediction } from "../../../src/domain/predictions/state.ts";
import type { Outcome, Rules } from "../../../src/domain/webhooks/delivery.ts";
import type {
  BegunTry,
  Destination,
  Outbox,
  WebhookEvent,
} from "../../../src/domain/webhooks/outbox.ts";
import type { WebhookEventName } from "../../../src/protocol/webhook.ts";
import { specWith } from "../predictions/samples.ts";

export const rules: Rules = { firstRetryMs: 5_000, lostMs: 15_000 };

export const own: Destination = { endpoint_id: null, events: ["started", "completed"] };
export const all: Destination = { endpoint_id: "all", events: ["started", "output", "completed"] };
export const outputOnly: Destination = { endpoint_id: "output-only", events: ["output"] };

const prediction = presentPrediction(specWith(), initialState(specWith()));

export const happening = (
  event: WebhookEventName,
  sequence: number,
  at: number,
  outputs = 0,
): WebhookEvent => ({
  event,
  sequence,
  at,
  prediction,
  attempt: 1,
  output: event === "completed" ? "items" : "none",
  outputs,
  output_bytes: outputs,
});

export const delivered: Outcome = { status: 200, error: null };
export const refused = (status: number): Outcome => ({
  status,
  error: `responded with status ${status}`,
});

export const settle = (
  outbox: Outbox,
  begun: BegunTry | undefined,
  outcome: Outcome,
  now: number,
) => {
  if (!begun) throw new Error("nothing was begun");
  return outbox.settle(begun, outcome, now, 0.5, rules);
};

/** Returns the event and the endpoint of each try that was begun. */
export const names = (begun: BegunTry[]) =>
  begun.map(({ event, delivery }) => [event.event, delivery.endpoint_id]);

/** Returns the state of each delivery, by sequence and receiver. */
export const states = (outbox: Outbox) =>
  outbox.events.flatMap(({ sequence, deliveries }) =>
    deliveries.map(({ endpoint_id, state }) => [sequence, endpoint_id, state]),
  );
