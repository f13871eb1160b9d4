/**
 * The webhook events of one prediction, as rules. No clock, no storage, no network: the prediction
 * object plans what happened, begins what is due, settles what became of it, and writes what
 * `takeChanges` gives.
 *
 * Each destination has one try under way at most, so that one that is slow takes one connection,
 * and sees its events in order. `started` and `completed` are delivered whatever happens; an
 * `output` that waits is superseded by the next event that has all it had.
 */
import type { Finish } from "../../protocol/channel.ts";
import type { Prediction } from "../../protocol/prediction.ts";
import type { WebhookEventName } from "../../protocol/webhook.ts";
import {
  type Attempt,
  beginTry,
  type Delivery,
  newDelivery,
  orderAgain,
  type Rules,
  type Settled,
  settleTry,
  waits,
} from "./delivery.ts";
import type { Outcome } from "./outcome.ts";

/** Between two `output` events. */
export const OUTPUT_INTERVAL_MS = 500;
/** `output` events that are kept for the ledger: the others are dropped once they are settled. */
const MAX_OUTPUTS = 100;
const GONE = 410;
const NEVER = Number.POSITIVE_INFINITY;

/** A receiver, and what it wants to be told. */
export interface Destination {
  /** null: the webhook of the prediction itself. */
  endpoint_id: string | null;
  events: WebhookEventName[];
}

/** What happened, and all that its body is made of but input and outputs. */
export interface WebhookEvent {
  /** The id of the last event of the log that it includes. */
  sequence: number;
  event: WebhookEventName;
  at: number;
  /** As it was then. */
  prediction: Prediction;
  /** Which attempt's outputs make up the output, how, how many there were, and their bytes. */
  attempt: number;
  output: Finish["output"];
  outputs: number;
  output_bytes: number;
}

export interface OutboxEvent extends WebhookEvent {
  deliveries: Delivery[];
}

interface Place {
  event: OutboxEvent;
  delivery: Delivery;
}

/** A try that has begun. */
export interface Begun extends Place {
  attempt: Attempt;
}

export class Outbox {
  readonly #destinations: Destination[];
  /** In the order of their sequence. */
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

  /** Whether anything is still to be delivered. */
  get pending(): boolean {
    return this.#places.some(({ delivery }) => delivery.state === "pending");
  }

  /** What has changed since the last call: events to be written, and sequences to be removed. */
  takeChanges(): { changed: OutboxEvent[]; dropped: number[] } {
    const changes = { changed: [...this.#changed], dropped: this.#dropped };
    this.#changed.clear();
    this.#dropped = [];
    return changes;
  }

  /** Plans an event for all that want it. `started` happens once, whatever attempt it is of. */
  plan(happening: WebhookEvent): void {
    const { event } = happening;
    if (event === "started" && this.#last("started")) return;
    this.#add(happening, event === "output" ? this.#followers : this.#wanting(event));
  }

  /**
   * Plans the end. It has the whole output: only those who are not told of the end are told of what
   * came after the last `output`, under the number of the event before the end.
   */
  planEnd(end: WebhookEvent): void {
    const outputOnly = this.#wanting("output").filter(
      ({ events }) => !events.includes("completed"),
    );
    if (this.#unsaid(end.outputs)) {
      this.#add({ ...end, event: "output", sequence: end.sequence - 1 }, outputOnly);
    }
    this.plan(end);
  }

  /** When the next `output` event is to be planned, of a prediction that has so many outputs. */
  outputAt(outputs: number): number {
    if (!this.#unsaid(outputs) || this.#followers.length === 0) return NEVER;
    const last = this.#last("output");
    return last ? last.at + OUTPUT_INTERVAL_MS : 0;
  }

  /** When something is due next. */
  dueAt(): number {
    return Math.min(
      ...this.#destinations.map((one) => this.#nextOf(one)?.delivery.next_at ?? NEVER),
    );
  }

  /** Begins all tries that are due, one of each destination. */
  begin(now: number, rules: Rules): Begun[] {
    return this.#destinations.flatMap((destination) => {
      const next = this.#nextOf(destination);
      if (!next || next.delivery.next_at > now) return [];
      this.#changed.add(next.event);
      const attempt = beginTry(next.delivery, now, rules);
      return attempt ? [{ ...next, attempt }] : [];
    });
  }

  /**
   * What became of a try.
   * @param chance 0 to 1, for the jitter
   */
  settle(
    { event, delivery, attempt }: Begun,
    outcome: Outcome,
    now: number,
    chance: number,
    rules: Rules,
  ): Settled {
    const settled = settleTry(delivery, attempt, outcome, now, chance, rules);
    if (settled === "late") return settled;
    this.#changed.add(event);
    if (saidGone(delivery)) this.#giveUp();
    this.#supersede();
    return delivery.state;
  }

  /**
   * Delivers an event once more.
   * @param endpointId only there; null is the prediction's own webhook
   * @returns the event; undefined when there is none, or it does not go there
   */
  redeliver(sequence: number, now: number, endpointId?: string | null): OutboxEvent | undefined {
    const event = this.#events.find((one) => one.sequence === sequence);
    const deliveries = event?.deliveries.filter(
      ({ endpoint_id }) => endpointId === undefined || endpoint_id === endpointId,
    );
    if (!event || !deliveries?.length) return undefined;
    for (const delivery of deliveries) orderAgain(delivery, now);
    this.#changed.add(event);
    return event;
  }

  #add(happening: WebhookEvent, destinations: Destination[]): void {
    if (destinations.length === 0) return;
    const gone = this.#places.some(({ delivery }) => saidGone(delivery));
    const deliveries = destinations.map(({ endpoint_id }): Delivery => {
      const delivery = newDelivery(endpoint_id, happening.at);
      return gone && endpoint_id === null ? { ...delivery, state: "failed" } : delivery;
    });
    const event = { ...happening, deliveries };
    this.#events.push(event);
    this.#changed.add(event);
    this.#supersede();
    this.#dropOutputs();
  }

  /** What waits, of what a later event has all of. The next `output` waits for as long as it would have. */
  #supersede(): void {
    for (const { event, delivery } of this.#places) {
      if (event.event !== "output" || !waits(delivery) || delivery.by_hand) continue;
      const later = this.#laterThan(event, delivery);
      if (!later) continue;
      delivery.state = "superseded";
      this.#changed.add(event);
      if (later.event.event !== "output" || !waits(later.delivery)) continue;
      later.delivery.failures = delivery.failures;
      later.delivery.next_at = Math.max(later.delivery.next_at, delivery.next_at);
      this.#changed.add(later.event);
    }
  }

  /** The next event for the same destination that has all of the output that this one had. */
  #laterThan({ sequence }: OutboxEvent, { endpoint_id }: Delivery): Place | undefined {
    return this.#places.find(
      ({ event, delivery }) =>
        event.sequence > sequence &&
        event.event !== "started" &&
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

  /** What the prediction's own webhook was still to be told. */
  #giveUp(): void {
    for (const { event, delivery } of this.#places) {
      if (delivery.endpoint_id !== null || !waits(delivery)) continue;
      delivery.state = "failed";
      this.#changed.add(event);
    }
  }

  /** Of a destination: the try that is under way, or else what is due first. */
  #nextOf({ endpoint_id }: Destination): Place | undefined {
    let next: Place | undefined;
    for (const place of this.#places) {
      const { delivery } = place;
      if (delivery.endpoint_id !== endpoint_id || delivery.state !== "pending") continue;
      if (delivery.under_way) return place;
      if (!next || delivery.next_at < next.delivery.next_at) next = place;
    }
    return next;
  }

  #wanting = (name: WebhookEventName) =>
    this.#destinations.filter(({ events }) => events.includes(name));

  /** Who is told of outputs while they come: nobody for whom something was given up. */
  get #followers(): Destination[] {
    const failed = this.#places.filter(({ delivery }) => delivery.state === "failed");
    return this.#wanting("output").filter(
      ({ endpoint_id }) => !failed.some(({ delivery }) => delivery.endpoint_id === endpoint_id),
    );
  }

  #last = (name: WebhookEventName) => this.#events.findLast(({ event }) => event === name);

  /** Whether there is more output than the last `output` event had. */
  #unsaid = (outputs: number) => outputs > (this.#last("output")?.outputs ?? 0);

  get #places(): Place[] {
    return this.#events.flatMap((event) =>
      event.deliveries.map((delivery) => ({ event, delivery })),
    );
  }
}

/** An endpoint that says so is switched off, which may be taken back: whether it is on is asked each time. */
const saidGone = ({ endpoint_id, attempts }: Delivery) =>
  endpoint_id === null && attempts.at(-1)?.status === GONE;
