/**
 * The webhook events of one prediction, as rules. No clock, no storage, no network: the prediction
 * object plans events, begins the tries that are due, settles their outcomes, and writes what
 * `takeChanges` returns.
 *
 * Each destination has at most one try under way, so that a slow one takes one connection and gets
 * its events in order. `started` and `completed` are always delivered; an `output` that still waits
 * is superseded by the next event, which includes all of its output.
 */
import type { BudgetFacts } from "../../protocol/budget.ts";
import type { Finish } from "../../protocol/channel.ts";
import type { Prediction } from "../../protocol/prediction.ts";
import { DEFAULT_EVENTS, type WebhookEventName } from "../../protocol/webhook.ts";
import type { PredictionSpec } from "../predictions/state.ts";
import {
  type Attempt,
  beginTry,
  type Delivery,
  forgetResponses,
  isWaiting,
  newDelivery,
  type Outcome,
  type Rules,
  resetDelivery,
  type Settled,
  settleTry,
} from "./delivery.ts";

/** Time between two `output` events. */
const OUTPUT_INTERVAL_MS = 500;
/** The `output` events that stay listed: older ones are dropped once they are settled. */
const MAX_OUTPUTS = 100;
const STATUS_GONE = 410;
const NEVER = Number.POSITIVE_INFINITY;

export interface Destination {
  /** The receiver. Null: the webhook of the prediction itself. */
  endpoint_id: string | null;
  events: WebhookEventName[];
}

/** An event, with all parts of its body except input and output. */
export interface WebhookEvent {
  /** The id of the last event of the log that this event includes. */
  sequence: number;
  event: WebhookEventName;
  at: number;
  prediction: Prediction;
  /** The attempt that made the output, how its outputs form it, their number and their bytes. */
  attempt: number;
  output: Finish["output"];
  outputs: number;
  output_bytes: number;
  /** The budget, in an event of one. */
  budget?: BudgetFacts;
}

export interface OutboxEvent extends WebhookEvent {
  deliveries: Delivery[];
}

export interface PlannedDelivery {
  event: OutboxEvent;
  delivery: Delivery;
}

export interface BegunTry extends PlannedDelivery {
  attempt: Attempt;
}

const isPlannedOnce = (name: WebhookEventName) => name !== "output" && name !== "completed";

export class Outbox {
  readonly #destinations: Destination[];
  #events: OutboxEvent[];
  readonly #changed = new Set<OutboxEvent>();
  #dropped: number[] = [];

  constructor(destinations: Destination[], events: OutboxEvent[] = []) {
    this.#destinations = destinations;
    this.#events = events;
  }

  get events(): readonly OutboxEvent[] {
    return this.#events;
  }

  get pending(): boolean {
    return this.#planned.some(({ delivery }) => delivery.state === "pending");
  }

  /** Returns the changes since the last call: events to write, and sequences to delete. */
  takeChanges(): { changed: OutboxEvent[]; dropped: number[] } {
    const changes = { changed: [...this.#changed], dropped: this.#dropped };
    this.#changed.clear();
    this.#dropped = [];
    return changes;
  }

  /**
   * Plans an event for its subscribers. `started` is planned once, not for each attempt, and the event of a budget
   * once, however often the account reports it.
   */
  plan(event: WebhookEvent): void {
    const name = event.event;
    if (isPlannedOnce(name) && this.#last(name)) return;
    this.#add(event, name === "output" ? this.#outputReceivers : this.#subscribersOf(name));
  }

  /**
   * Plans `completed`, which has the whole output. Destinations that subscribe to `output` but not to
   * `completed` get the rest of it as a last `output`, under the number of the event before the end.
   */
  planEnd(end: WebhookEvent): void {
    const outputOnly = this.#subscribersOf("output").filter(
      ({ events }) => !events.includes("completed"),
    );
    if (this.#hasNewOutput(end.outputs)) {
      this.#add({ ...end, event: "output", sequence: end.sequence - 1 }, outputOnly);
    }
    this.plan(end);
  }

  /** Returns when the next `output` event is to be planned. @param outputs how many there are now */
  outputAt(outputs: number): number {
    if (!this.#hasNewOutput(outputs) || this.#outputReceivers.length === 0) return NEVER;
    const last = this.#last("output");
    return last ? last.at + OUTPUT_INTERVAL_MS : 0;
  }

  get wantsOutput(): boolean {
    return this.#outputReceivers.length > 0;
  }

  dueAt(): number {
    return Math.min(
      ...this.#destinations.map((one) => this.#nextOf(one)?.delivery.next_at ?? NEVER),
    );
  }

  begin(now: number, rules: Rules): BegunTry[] {
    return this.#destinations.flatMap((destination) => {
      const next = this.#nextOf(destination);
      if (!next || next.delivery.next_at > now) return [];
      this.#changed.add(next.event);
      const attempt = beginTry(next.delivery, now, rules);
      return attempt ? [{ ...next, attempt }] : [];
    });
  }

  /** Records the outcome of a try. @param chance 0 to 1, for the jitter */
  settle(
    { event, delivery, attempt }: BegunTry,
    outcome: Outcome,
    now: number,
    chance: number,
    rules: Rules,
  ): Settled {
    const settled = settleTry(delivery, attempt, outcome, now, chance, rules);
    if (settled === "late") return settled;
    this.#changed.add(event);
    if (receiverIsGone(delivery)) this.#failWaiting();
    this.#supersede();
    return delivery.state;
  }

  /**
   * Delivers an event again.
   * @param endpointId to this endpoint only; null is the prediction's own webhook
   * @returns undefined when there is no such event, or it does not go to that endpoint
   */
  redeliver(sequence: number, now: number, endpointId?: string | null): OutboxEvent | undefined {
    const event = this.#events.find((one) => one.sequence === sequence);
    const deliveries = event?.deliveries.filter(
      ({ endpoint_id }) => endpointId === undefined || endpoint_id === endpointId,
    );
    if (!event || !deliveries?.length) return undefined;
    for (const delivery of deliveries) resetDelivery(delivery, now);
    this.#changed.add(event);
    return event;
  }

  forgetResponses(): void {
    for (const { event, delivery } of this.#planned)
      if (forgetResponses(delivery)) this.#changed.add(event);
  }

  #add(planned: WebhookEvent, destinations: Destination[]): void {
    if (destinations.length === 0) return;
    const gone = this.#planned.some(({ delivery }) => receiverIsGone(delivery));
    const deliveries = destinations.map(({ endpoint_id }): Delivery => {
      const delivery = newDelivery(endpoint_id, planned.at);
      return gone && endpoint_id === null ? { ...delivery, state: "failed" } : delivery;
    });
    const event = { ...planned, deliveries };
    this.#events.push(event);
    this.#changed.add(event);
    this.#supersede();
    this.#dropOutputs();
  }

  /** Supersedes waiting `output` events that a later event includes. The later one takes over their delay. */
  #supersede(): void {
    for (const { event, delivery } of this.#planned) {
      if (event.event !== "output" || !isWaiting(delivery) || delivery.by_hand) continue;
      const later = this.#supersederOf(event, delivery);
      if (!later) continue;
      delivery.state = "superseded";
      this.#changed.add(event);
      if (later.event.event !== "output" || !isWaiting(later.delivery)) continue;
      later.delivery.failures = delivery.failures;
      later.delivery.next_at = Math.max(later.delivery.next_at, delivery.next_at);
      this.#changed.add(later.event);
    }
  }

  /** Returns the next event for the same destination that includes this one's output. */
  #supersederOf({ sequence }: OutboxEvent, { endpoint_id }: Delivery): PlannedDelivery | undefined {
    return this.#planned.find(
      ({ event, delivery }) =>
        event.sequence > sequence &&
        (event.event === "output" || event.event === "completed") &&
        delivery.endpoint_id === endpoint_id,
    );
  }

  #dropOutputs(): void {
    const outputs = this.#events.filter(({ event }) => event === "output");
    for (const event of outputs.slice(0, -MAX_OUTPUTS)) {
      if (event.deliveries.some(({ state }) => state === "pending")) continue;
      this.#events = this.#events.filter((one) => one !== event);
      this.#changed.delete(event);
      this.#dropped.push(event.sequence);
    }
  }

  /** Fails all waiting deliveries of the prediction's own webhook, which gets no further events. */
  #failWaiting(): void {
    for (const { event, delivery } of this.#planned) {
      if (delivery.endpoint_id !== null || !isWaiting(delivery)) continue;
      delivery.state = "failed";
      this.#changed.add(event);
    }
  }

  /** Returns a destination's try that is under way, or else the delivery that is due first. */
  #nextOf({ endpoint_id }: Destination): PlannedDelivery | undefined {
    let next: PlannedDelivery | undefined;
    for (const planned of this.#planned) {
      const { delivery } = planned;
      if (delivery.endpoint_id !== endpoint_id || delivery.state !== "pending") continue;
      if (delivery.under_way) return planned;
      if (!next || delivery.next_at < next.delivery.next_at) next = planned;
    }
    return next;
  }

  #subscribersOf = (name: WebhookEventName) =>
    this.#destinations.filter(({ events }) => events.includes(name));

  /** Returns the subscribers of `output`, except those to which a delivery has failed permanently. */
  get #outputReceivers(): Destination[] {
    const failed = this.#planned.filter(({ delivery }) => delivery.state === "failed");
    return this.#subscribersOf("output").filter(
      ({ endpoint_id }) => !failed.some(({ delivery }) => delivery.endpoint_id === endpoint_id),
    );
  }

  #last = (name: WebhookEventName) => this.#events.findLast(({ event }) => event === name);

  /** Whether there is more output than the last `output` event includes. */
  #hasNewOutput = (outputs: number) => outputs > (this.#last("output")?.outputs ?? 0);

  get #planned(): PlannedDelivery[] {
    return this.#events.flatMap((event) =>
      event.deliveries.map((delivery) => ({ event, delivery })),
    );
  }
}

/** Whether the prediction's own webhook is gone: an endpoint is switched off instead. */
const receiverIsGone = ({ endpoint_id, attempts }: Delivery) =>
  endpoint_id === null && attempts.at(-1)?.status === STATUS_GONE;

export function destinationsOf({ webhook, endpoints }: PredictionSpec): Destination[] {
  const own = webhook && { endpoint_id: null, events: webhook.events ?? DEFAULT_EVENTS };
  const others = endpoints.map(({ id, events }) => ({ endpoint_id: id, events }));
  return own ? [own, ...others] : others;
}
