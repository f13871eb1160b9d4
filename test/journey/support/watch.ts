/** A reader of one prediction's events, from the first to the last, through broken connections. */
import { EventEmitter, once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { CallFailed, type Client } from "../../../src/dev/client.ts";

export interface Event {
  id: number;
  event: string;
  data: unknown;
}

/** Between two tries while the control plane is away, ms. */
const RETRY_MS = 50;

export class Watch {
  readonly id: string;
  readonly events: Event[] = [];
  /** The number of times that the stream broke, and was resumed after the last event. */
  breaks = 0;
  /** Resolves at the clean end of the stream; rejects when the control plane refuses it. */
  readonly ended: Promise<void>;
  readonly #client: Client;
  readonly #isEventSource: boolean;
  readonly #signal: AbortSignal;
  readonly #changes = new EventEmitter();

  /**
   * @param signal ends the reader at any moment
   * @param isEventSource whether it resumes as an EventSource does, by Last-Event-ID
   */
  constructor(client: Client, id: string, signal: AbortSignal, isEventSource = false) {
    this.id = id;
    this.#client = client;
    this.#signal = signal;
    this.#isEventSource = isEventSource;
    this.ended = this.#follow();
    this.ended.catch(() => {});
  }

  /** Returns the first event that matches: one that has come, or one to come. */
  async until(wanted: (event: Event) => boolean): Promise<Event> {
    for (;;) {
      const found = this.events.find(wanted);
      if (found) return found;
      const over = this.ended.then(() => {
        const seen = JSON.stringify(this.events.map(({ event, data }) => [event, data]));
        if (!this.events.some(wanted)) throw new Error(`It ended without: ${seen}`);
      });
      await Promise.race([once(this.#changes, "event"), over]);
    }
  }

  first(name: string): Promise<Event> {
    return this.until(({ event }) => event === name);
  }

  /** Returns the numbers of the attempts that have begun, in their order. */
  get attempts(): number[] {
    return this.dataOf("status")
      .filter(isStart)
      .map(({ attempt }) => attempt);
  }

  dataOf(name: string): unknown[] {
    return this.events.filter(({ event }) => event === name).map(({ data }) => data);
  }

  async #follow(): Promise<void> {
    for (;;) {
      const last = `${this.events.at(-1)?.id ?? 0}`;
      const all = `/predictions/${this.id}/stream`;
      const path = this.#isEventSource ? all : `${all}?after_id=${last}`;
      const headers = this.#isEventSource ? { "last-event-id": last } : undefined;
      const call = { signal: this.#signal, ...(headers && { headers }) };
      try {
        for await (const event of this.#client.events("GET", path, call)) {
          this.events.push(event);
          this.#changes.emit("event");
        }
        return;
      } catch (error) {
        const refused = error instanceof CallFailed && error.status < 500;
        if (refused || this.#signal.aborted) throw error;
        this.breaks++;
        await sleep(RETRY_MS, undefined, { signal: this.#signal });
      }
    }
  }
}

const isStart = (data: unknown): data is { status: "started"; attempt: number } =>
  typeof data === "object" && data !== null && "attempt" in data;
