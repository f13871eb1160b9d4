/**
 * The readers of one prediction's stream. The log is the buffer: a reader that keeps up is handed
 * each frame as it is written, the same bytes for all; one that lags is handed nothing until it
 * asks again, and then reads on from the log. So a slow reader costs 32 KiB and a frame, whatever
 * it misses.
 */
import { EVENT_END, eventHead, HEARTBEAT } from "../../lib/sse.ts";
import type { Elsewhere, Encoded } from "./log.ts";

const HEARTBEAT_SECONDS = 15;
/** A reader that takes nothing for so long is gone: it may come back and resume. */
const STALLED_SECONDS = 60;
const BUFFER_BYTES = 32 * 1024;

const encoder = new TextEncoder();
const heartbeat = encoder.encode(HEARTBEAT);

export interface Source {
  /** What follows the event `after`, or undefined at the end. */
  page(after: number): Encoded | Elsewhere | undefined;
  /** The id of the last event. */
  last(): number;
  /** Whether no other can follow. */
  ended(): boolean;
  /** The bytes of a value that lies in R2: JSON text. */
  open(name: string): Promise<ReadableStream<Uint8Array>>;
}

export interface Limits {
  /** By which `end` finds it. */
  reader?: string | undefined;
  /** Seconds without an event after which the stream is closed. */
  idle?: number | undefined;
  /** Seconds after which it is closed: the reader resumes, as somebody who may. */
  lasts?: number | undefined;
}

interface Subscriber {
  reader: string | undefined;
  controller: ReadableStreamDefaultController<Uint8Array>;
  position: number;
  /** Handed each frame as it comes; false while it reads from the log. */
  live: boolean;
  /** A value is being copied to it: until its end nothing else can be said. */
  copying: boolean;
  /** What it is told at the end of that value, and then nothing more. */
  lastWords: string | undefined;
  /** Called when there is room again, or nobody is there any more. */
  onRoom: () => void;
  /** When it was last given an event, and when it last took anything. */
  eventAt: number;
  tookAt: number;
  idleSeconds: number;
  endsAt: number;
  /** Called when it is gone before the end. */
  onLeave: () => void;
}

export class Subscribers {
  readonly #source: Source;
  readonly #all = new Set<Subscriber>();
  #timer: number | null = null;

  constructor(source: Source) {
    this.#source = source;
  }

  get size(): number {
    return this.#all.size;
  }

  /**
   * @param after the id of the last event that the reader has.
   * @param onLeave called when the reader is gone before the end.
   */
  subscribe(
    after: number,
    { reader, idle = Number.POSITIVE_INFINITY, lasts = Number.POSITIVE_INFINITY }: Limits = {},
    onLeave = () => {},
  ): ReadableStream<Uint8Array> {
    let subscriber: Subscriber;
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          const now = Date.now();
          subscriber = {
            reader,
            controller,
            position: after,
            live: false,
            copying: false,
            lastWords: undefined,
            onRoom() {},
            eventAt: now,
            tookAt: now,
            idleSeconds: idle,
            endsAt: now + lasts * 1000,
            onLeave,
          };
          this.#all.add(subscriber);
          this.#schedule();
        },
        pull: () => this.#pull(subscriber),
        cancel: () => {
          if (this.#remove(subscriber)) onLeave();
        },
      },
      { highWaterMark: BUFFER_BYTES, size: (chunk) => chunk.byteLength },
    );
  }

  /** @param encoded absent: readers find it in the log, and partly in R2. */
  publish(encoded: Encoded | undefined): void {
    const now = Date.now();
    for (const subscriber of this.#all) {
      const room = (subscriber.controller.desiredSize ?? 0) > 0;
      if (!room || !encoded) subscriber.live = false;
      if (!room) continue;
      if (!encoded || !subscriber.live) this.#pull(subscriber);
      else {
        subscriber.position = encoded.last;
        subscriber.eventAt = now;
        subscriber.controller.enqueue(encoded.bytes);
      }
    }
    if (this.#source.ended()) for (const reader of [...this.#all]) this.#endIfDone(reader);
  }

  /** Called when the reader has room: it has taken what it was given. */
  #pull(subscriber: Subscriber): void {
    subscriber.tookAt = Date.now();
    subscriber.onRoom();
    if (subscriber.live || subscriber.copying) return;
    const page = this.#source.page(subscriber.position);
    if (page && "stored" in page) {
      void this.#copy(subscriber, page);
      return;
    }
    if (page) {
      // Before it is handed over: a reader that waits for it asks for more at once, from here.
      subscriber.position = page.last;
      subscriber.eventAt = subscriber.tookAt;
      subscriber.controller.enqueue(page.bytes);
    } else subscriber.live = subscriber.position === this.#source.last();
    this.#endIfDone(subscriber);
  }

  /** A value from R2, as it comes and as the reader takes it, and then whatever follows. */
  async #copy(subscriber: Subscriber, { last, stored }: Elsewhere): Promise<void> {
    const { controller } = subscriber;
    subscriber.copying = true;
    try {
      const value = await this.#source.open(stored.name);
      if (!this.#all.has(subscriber)) return await value.cancel();
      controller.enqueue(encoder.encode(eventHead(last, "output")));
      for await (const chunk of value) {
        controller.enqueue(chunk);
        await this.#room(subscriber);
        if (!this.#all.has(subscriber)) return;
        subscriber.eventAt = Date.now();
      }
      controller.enqueue(encoder.encode(EVENT_END));
    } catch (error) {
      if (this.#remove(subscriber)) controller.error(error);
      return;
    }
    subscriber.copying = false;
    subscriber.position = last;
    if (subscriber.lastWords === undefined) this.#pull(subscriber);
    else this.#dismiss(subscriber, subscriber.lastWords);
  }

  #room(subscriber: Subscriber): Promise<void> {
    if ((subscriber.controller.desiredSize ?? 0) > 0) return Promise.resolve();
    return new Promise((resolve) => {
      subscriber.onRoom = resolve;
    });
  }

  /** A reader that may read no more is told so between two events. */
  end(reader: string, words: string): void {
    for (const subscriber of [...this.#all]) {
      if (subscriber.reader !== reader) continue;
      if (subscriber.copying) subscriber.lastWords = words;
      else this.#dismiss(subscriber, words);
    }
  }

  #dismiss(subscriber: Subscriber, words: string): void {
    subscriber.controller.enqueue(encoder.encode(words));
    this.#close(subscriber);
  }

  /** Nothing is left to read on from. */
  abort(reason: Error): void {
    for (const subscriber of [...this.#all]) {
      if (this.#remove(subscriber)) subscriber.controller.error(reason);
    }
  }

  #endIfDone(subscriber: Subscriber): void {
    const { position, copying } = subscriber;
    if (copying) return;
    if (this.#source.ended() && position >= this.#source.last()) this.#close(subscriber);
  }

  #close(subscriber: Subscriber): void {
    if (this.#remove(subscriber)) subscriber.controller.close();
  }

  #remove(subscriber: Subscriber): boolean {
    const removed = this.#all.delete(subscriber);
    subscriber.onRoom();
    if (this.#all.size === 0) {
      clearTimeout(this.#timer);
      this.#timer = null;
    }
    return removed;
  }

  /** One timer for all: the next heartbeat, or the first limit before it. */
  #schedule(): void {
    clearTimeout(this.#timer);
    const now = Date.now();
    let wait = HEARTBEAT_SECONDS * 1000;
    for (const { idleSeconds, endsAt, eventAt, copying } of this.#all) {
      wait = Math.min(wait, eventAt + idleSeconds * 1000 - now);
      // Not in the middle of a value.
      if (!copying) wait = Math.min(wait, endsAt - now);
    }
    this.#timer = setTimeout(() => this.#beat(), Math.max(wait, 10));
  }

  #beat(): void {
    const now = Date.now();
    for (const subscriber of [...this.#all]) {
      const { controller, copying, eventAt, tookAt, idleSeconds, endsAt, onLeave } = subscriber;
      const idle = now - eventAt >= idleSeconds * 1000;
      const room = (controller.desiredSize ?? 0) > 0;
      if (idle || (now >= endsAt && !copying)) this.#close(subscriber);
      else if (room && !copying) controller.enqueue(heartbeat);
      else if (!room && now - tookAt >= STALLED_SECONDS * 1000) {
        this.#remove(subscriber);
        controller.error(new Error("The reader took nothing for too long. Resume with after_id."));
        onLeave();
      }
    }
    if (this.#all.size > 0) this.#schedule();
  }
}
