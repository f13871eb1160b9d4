/**
 * The webhook events of one prediction on their way to their receivers, as rules. No clock, no
 * storage, no network: the prediction object plans what happened, begins what is due, settles what
 * became of it, and writes what `takeChanges` gives.
 *
 *   pending ──begin──▶ (a try) ──settle──▶ delivered | pending, later | failed | superseded
 *
 * A try is written before it begins. One whose outcome was never heard, since the object went with
 * it, is simply due again after a while: whoever settles a try that is not the last one comes too
 * late. Each destination has one try under way at most, so that one that is slow takes one
 * connection, and sees its events in order.
 */
import type { Finish } from "../../protocol/channel.ts";
import type { Prediction } from "../../protocol/prediction.ts";
import type { DeliveryState, WebhookEventName } from "../../protocol/webhook.ts";
import type { Outcome } from "./outcome.ts";
import { nextDelay } from "./schedule.ts";

/** Between two `output` events. */
export const OUTPUT_INTERVAL_MS = 500;
/** `output` events that are kept for the ledger: the others are dropped once they are settled. */
const MAX_OUTPUTS = 100;
/** Tries of one delivery that are kept: 12 by themselves, the others by hand. */
const MAX_ATTEMPTS = 50;
const GONE = 410;
const NEVER = Number.POSITIVE_INFINITY;

/** A receiver, and what it wants to be told. */
export interface Destination {
  /** null: the webhook of the prediction itself. */
  endpoint_id: string | null;
  events: WebhookEventName[];
}

/** One try. All null while it is under way. */
export interface Attempt {
  at: number;
  duration_ms: number | null;
  status: number | null;
  error: string | null;
}

export interface Delivery {
  endpoint_id: string | null;
  state: DeliveryState;
  /** When it is due; of one whose try is under way, when that is given up for lost. */
  next_at: number;
  under_way: boolean;
  /** Since it was planned, or last ordered by hand. */
  tries: number;
  attempts: Attempt[];
}

/** What happened, and all that its body is made of but input and outputs. */
export interface Happening {
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

export interface OutboxEvent extends Happening {
  deliveries: Delivery[];
}

/** A try that has begun. */
export interface Begun {
  event: OutboxEvent;
  delivery: Delivery;
  /** Names the try: what is settled under another number comes too late. */
  attempt: Attempt;
}

export interface Rules {
  firstRetryMs: number;
  /** After which a try of which nothing is heard is given up for lost. */
  lostMs: number;
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
    return this.#deliveries().some(({ state }) => state === "pending");
  }

  /** What has changed since the last call: events to be written, and sequences to be removed. */
  takeChanges(): { changed: OutboxEvent[]; dropped: number[] } {
    const changes = { changed: [...this.#changed], dropped: this.#dropped };
    this.#changed.clear();
    this.#dropped = [];
    return changes;
  }

  /** Plans an event for all that want it. `started` happens once, whatever attempt it is of. */
  plan(happening: Happening): void {
    if (happening.event === "started" && this.#last("started")) return;
    this.#add(happening, this.#wanting(happening.event));
  }

  /**
   * Plans the end. It has the whole output: only those who are not told of the end are told of what
   * came after the last `output`, under the number of the event before the end.
   */
  planEnd(end: Happening): void {
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
    if (!this.#unsaid(outputs) || this.#wanting("output").length === 0) return NEVER;
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
  begin(now: number, { lostMs }: Rules): Begun[] {
    const begun: Begun[] = [];
    for (const destination of this.#destinations) {
      const next = this.#nextOf(destination);
      if (!next || next.delivery.next_at > now) continue;
      const { event, delivery } = next;
      const attempt: Attempt = { at: now, duration_ms: null, status: null, error: null };
      if (delivery.under_way) this.#lose(delivery);
      Object.assign(delivery, { under_way: true, next_at: now + lostMs });
      delivery.tries += 1;
      delivery.attempts = [...delivery.attempts, attempt].slice(-MAX_ATTEMPTS);
      this.#changed.add(event);
      begun.push({ event, delivery, attempt });
    }
    return begun;
  }

  /**
   * What became of a try.
   * @param chance 0 to 1, for the jitter
   * @returns whether it was the last one, in vain
   */
  settle(
    { event, delivery, attempt }: Begun,
    outcome: Outcome,
    now: number,
    chance: number,
    { firstRetryMs }: Rules,
  ): boolean {
    // Given up for lost meanwhile, or dropped.
    if (delivery.attempts.at(-1) !== attempt || !delivery.under_way) return false;
    this.#changed.add(event);
    delivery.under_way = false;
    attempt.duration_ms = now - attempt.at;
    attempt.status = outcome.status;
    attempt.error = outcome.error;
    if (outcome.error === null) {
      delivery.state = "delivered";
      return false;
    }
    if (saidGone(delivery)) this.#giveUp();
    const delay = nextDelay(delivery.tries, firstRetryMs, chance, outcome.retryAfterMs);
    if (outcome.final || delay === undefined) delivery.state = "failed";
    else if (this.#superseded(event, delivery)) delivery.state = "superseded";
    else delivery.next_at = now + Math.ceil(delay);
    return delivery.state === "failed";
  }

  /**
   * Delivers an event once more, with all its tries; one that is under way is on its way already.
   * @param endpointId only there; null is the prediction's own webhook
   * @returns the event; undefined when there is none, or it does not go there
   */
  redeliver(sequence: number, now: number, endpointId?: string | null): OutboxEvent | undefined {
    const event = this.#events.find((one) => one.sequence === sequence);
    const deliveries = event?.deliveries.filter(
      ({ endpoint_id }) => endpointId === undefined || endpoint_id === endpointId,
    );
    if (!event || !deliveries?.length) return undefined;
    for (const delivery of deliveries) {
      if (!delivery.under_way)
        Object.assign(delivery, { state: "pending", next_at: now, tries: 0 });
    }
    this.#changed.add(event);
    return event;
  }

  #add(happening: Happening, destinations: Destination[]): void {
    if (destinations.length === 0) return;
    const deliveries = destinations.map(({ endpoint_id }): Delivery => {
      const fresh = { state: "pending", next_at: happening.at } as const;
      return { endpoint_id, ...fresh, under_way: false, tries: 0, attempts: [] };
    });
    const event = { ...happening, deliveries };
    this.#events.push(event);
    this.#changed.add(event);
    this.#supersede();
    this.#dropOutputs();
  }

  /** What waits, of what a later event has all of. */
  #supersede(): void {
    for (const event of this.#events) {
      for (const delivery of event.deliveries) {
        if (delivery.state !== "pending" || delivery.under_way) continue;
        if (!this.#superseded(event, delivery)) continue;
        delivery.state = "superseded";
        this.#changed.add(event);
      }
    }
  }

  #superseded({ event, sequence }: OutboxEvent, { endpoint_id }: Delivery): boolean {
    if (event !== "output") return false;
    return this.#events.some(
      (later) =>
        later.sequence > sequence &&
        later.event !== "started" &&
        later.deliveries.some((delivery) => delivery.endpoint_id === endpoint_id),
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
    for (const event of this.#events) {
      for (const delivery of event.deliveries) {
        if (delivery.endpoint_id !== null || delivery.state !== "pending") continue;
        delivery.state = "failed";
        this.#changed.add(event);
      }
    }
  }

  #lose(delivery: Delivery): void {
    const lost = delivery.attempts.at(-1);
    if (lost) lost.error = "its outcome was never heard: the service was restarted meanwhile";
  }

  /** Whether the prediction's own webhook has said that it wants nothing any more. */
  get #gone(): boolean {
    return this.#deliveries().some(saidGone);
  }

  /** Of a destination: the try that is under way, or else what is due first. */
  #nextOf({ endpoint_id }: Destination): { event: OutboxEvent; delivery: Delivery } | undefined {
    let next: { event: OutboxEvent; delivery: Delivery } | undefined;
    for (const event of this.#events) {
      for (const delivery of event.deliveries) {
        if (delivery.endpoint_id !== endpoint_id || delivery.state !== "pending") continue;
        if (delivery.under_way) return { event, delivery };
        if (!next || delivery.next_at < next.delivery.next_at) next = { event, delivery };
      }
    }
    return next;
  }

  #wanting = (event: WebhookEventName) =>
    this.#destinations.filter(
      ({ endpoint_id, events }) => events.includes(event) && !(endpoint_id === null && this.#gone),
    );

  #last = (event: WebhookEventName) => this.#events.findLast((one) => one.event === event);

  /** Whether there is more output than the last `output` event had. */
  #unsaid = (outputs: number) => outputs > (this.#last("output")?.outputs ?? 0);

  #deliveries = () => this.#events.flatMap(({ deliveries }) => deliveries);
}

/** An endpoint that says so is switched off, which may be taken back: whether it is on is asked each time. */
const saidGone = ({ endpoint_id, attempts }: Delivery) =>
  endpoint_id === null && attempts.at(-1)?.status === GONE;
