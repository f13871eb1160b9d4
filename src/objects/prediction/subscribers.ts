/**
 * The readers of one prediction's event stream. The log is the buffer: a reader that keeps up is sent each
 * frame as it is written, the same bytes for all; a reader that lags is sent nothing until it has room again,
 * and then continues with recent frames, or from the log. So a slow reader costs 32 KiB and a frame, however
 * much it misses, and all slow readers 256 KiB more.
 */
import { EVENT_END, eventHead, HEARTBEAT } from "../../lib/sse.ts";
import type { ReplacementCheck } from "../replacement-check.ts";
import type { StreamLimits, StreamReader } from "../stubs/prediction.ts";
import type { EncodedEvents, ShownEvents, StoredEvent } from "./log-events.ts";

const HEARTBEAT_MS = 15_000;
/** A reader that takes nothing for this long is disconnected: it can resume. */
const STALLED_SECONDS = 60;
/** How long a reader whose access has ended may still take a stored value that was begun. */
const ENDING_MS = 1_000;

const NEVER = Number.POSITIVE_INFINITY;

const encoder = new TextEncoder();
const heartbeat = encoder.encode(HEARTBEAT);

interface LogSource {
  /** The events that follow `after`; undefined at the end. */
  page(after: number): EncodedEvents | StoredEvent | undefined;
  last(): number;
  /** Whether no further event can follow. */
  ended(): boolean;
  /** The JSON text of a value that is stored in R2. */
  open(name: string): Promise<ReadableStream<Uint8Array>>;
}

/** The place of an open stream among those that its account may have. */
interface StreamPermit {
  /** Called every few seconds. */
  renew(): void;
  /** Called at the end of the stream, however it ends. */
  leave(): void;
}

interface Subscriber {
  reader: StreamReader | undefined;
  permit: StreamPermit | undefined;
  controller: ReadableStreamDefaultController<Uint8Array>;
  position: number;
  /** Whether the reader is sent each frame as it is written; false while it reads from the log. */
  live: boolean;
  /** Whether a stored value is being copied to the reader: nothing else can be sent until that ends. */
  copying: boolean;
  /** Whether the reader's access has ended. */
  ending: boolean;
  /** Called when the reader has room again or has left. */
  onRoom: () => void;
  /** When the reader was last sent an event, and when it last took anything. */
  eventAt: number;
  tookAt: number;
  idleSeconds: number;
  endsAt: number;
  /** Called when the reader leaves before the end. */
  onLeave: () => void;
}

/** Tokens that a token has issued share its id, and end at different times. */
const accessOf = ({ id, expires_at }: StreamReader): string => `${id} ${expires_at}`;

export class Subscribers {
  readonly #source: LogSource;
  readonly #all = new Set<Subscriber>();
  /** Recent frames; empty while all readers keep up. */
  readonly #recent = new Recent();
  #timer: number | null = null;
  /** When the next heartbeat is due, for later subscribers too. */
  #beatAt = 0;

  constructor(source: LogSource) {
    this.#source = source;
  }

  get size(): number {
    return this.#all.size;
  }

  /**
   * @param after the id of the last event that the reader has
   * @param onLeave called when the reader leaves before the end
   */
  subscribe(
    after: number,
    { reader, idle_seconds = NEVER, lifetime_seconds = NEVER }: StreamLimits = {},
    onLeave = () => {},
    permit?: StreamPermit,
  ): ReadableStream<Uint8Array> {
    let subscriber: Subscriber;
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          const now = Date.now();
          subscriber = {
            reader,
            permit,
            controller,
            position: after,
            live: false,
            copying: false,
            ending: false,
            onRoom() {},
            eventAt: now,
            tookAt: now,
            idleSeconds: idle_seconds,
            endsAt: now + lifetime_seconds * 1000,
            onLeave,
          };
          if (this.#all.size === 0) this.#beatAt = now + HEARTBEAT_MS;
          this.#all.add(subscriber);
          this.#schedule();
        },
        pull: () => this.#pull(subscriber),
        cancel: () => {
          if (this.#remove(subscriber)) onLeave();
        },
      },
      // One chunk is queued: frames that come before it is taken are sent as one. To 1,000 readers 64 frames
      // took a fifth less time.
      { highWaterMark: 1 },
    );
  }

  /** @param events undefined when readers must take them from the log, and partly from R2 */
  publish(events: ShownEvents | undefined): void {
    const now = Date.now();
    if (events) this.#recent.add(events);
    else this.#recent.clear();
    let keepUp = true;
    for (const subscriber of this.#all) {
      const room = (subscriber.controller.desiredSize ?? 0) > 0;
      if (!room || !events) subscriber.live = false;
      keepUp &&= subscriber.live;
      if (!room) continue;
      if (!events || !subscriber.live) this.#pull(subscriber);
      else {
        subscriber.position = events.last;
        subscriber.eventAt = now;
        subscriber.controller.enqueue(events.bytes);
      }
    }
    if (keepUp) this.#recent.clear();
    if (this.#source.ended()) for (const reader of [...this.#all]) this.#endIfDone(reader);
  }

  /** Called when the reader has room: it has taken all that it was sent. */
  #pull(subscriber: Subscriber): void {
    subscriber.tookAt = Date.now();
    subscriber.onRoom();
    if (subscriber.live || subscriber.copying) return;
    const { position } = subscriber;
    const page = this.#recent.after(position) ?? this.#source.page(position);
    if (page && "stored" in page) {
      void this.#copy(subscriber, page);
      return;
    }
    if (page) {
      // The position is set first: a waiting reader pulls again from within enqueue.
      subscriber.position = page.last;
      subscriber.eventAt = subscriber.tookAt;
      subscriber.controller.enqueue(page.bytes);
    } else subscriber.live = subscriber.position === this.#source.last();
    this.#endIfDone(subscriber);
  }

  /** Sends a value from R2 at the reader's pace, and then the events after it. */
  async #copy(subscriber: Subscriber, { id, stored }: StoredEvent): Promise<void> {
    const { controller } = subscriber;
    subscriber.copying = true;
    try {
      const value = await this.#source.open(stored.name);
      if (!this.#all.has(subscriber)) return await value.cancel();
      controller.enqueue(encoder.encode(eventHead(id, "output")));
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
    subscriber.position = id;
    if (subscriber.ending) this.#endAccess(subscriber);
    else this.#pull(subscriber);
  }

  #room(subscriber: Subscriber): Promise<void> {
    if ((subscriber.controller.desiredSize ?? 0) > 0) return Promise.resolve();
    return new Promise((resolve) => {
      subscriber.onRoom = resolve;
    });
  }

  /**
   * Returns the readers whose access is to be checked, by their tokens or sessions. Their streams still
   * count.
   */
  renewed(): Map<string, StreamReader> {
    const readers = new Map<string, StreamReader>();
    for (const { reader, permit } of this.#all) {
      permit?.renew();
      if (reader) readers.set(accessOf(reader), reader);
    }
    return readers;
  }

  /** Ends all streams with the same access between two events, with their last words. */
  end(ended: StreamReader): void {
    const access = accessOf(ended);
    for (const subscriber of [...this.#all]) {
      const { reader, ending } = subscriber;
      if (!reader || accessOf(reader) !== access || ending) continue;
      subscriber.ending = true;
      if (!subscriber.copying) this.#endAccess(subscriber);
      else setTimeout(() => this.#breakOff(subscriber, "Your access has ended."), ENDING_MS);
    }
  }

  #endAccess(subscriber: Subscriber): void {
    const { controller, reader } = subscriber;
    controller.enqueue(encoder.encode(reader?.last_words));
    this.#close(subscriber);
  }

  #breakOff(subscriber: Subscriber, why: string): void {
    if (this.#remove(subscriber)) subscriber.controller.error(new Error(why));
  }

  /** Breaks off all streams: the log is deleted. */
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
    subscriber.permit?.leave();
    subscriber.onRoom();
    if (this.#all.size === 0) {
      this.#recent.clear();
      clearTimeout(this.#timer);
      this.#timer = null;
    }
    return removed;
  }

  /** Sets one timer for all readers: for the next heartbeat, or an earlier limit. */
  #schedule(): void {
    clearTimeout(this.#timer);
    const now = Date.now();
    let wait = this.#beatAt - now;
    for (const { idleSeconds, endsAt, eventAt, copying } of this.#all) {
      wait = Math.min(wait, eventAt + idleSeconds * 1000 - now);
      // A stream never ends in the middle of a value.
      if (!copying) wait = Math.min(wait, endsAt - now);
    }
    this.#timer = setTimeout(() => this.#beat(), Math.max(wait, 10));
  }

  #beat(): void {
    const now = Date.now();
    this.#beatAt = now + HEARTBEAT_MS;
    for (const subscriber of [...this.#all]) {
      const { controller, copying, eventAt, tookAt, idleSeconds, endsAt, onLeave } = subscriber;
      const idle_seconds = now - eventAt >= idleSeconds * 1000;
      const room = (controller.desiredSize ?? 0) > 0;
      if (idle_seconds || (now >= endsAt && !copying)) this.#close(subscriber);
      else if (room && !copying) controller.enqueue(heartbeat);
      else if (!room && now - tookAt >= STALLED_SECONDS * 1000) {
        this.#breakOff(subscriber, "The client read nothing for 60 s. Resume with after_id.");
        onLeave();
      }
    }
    if (this.#all.size > 0) this.#schedule();
  }
}

/**
 * Recent frames, encoded once: a reader that is a few frames behind is sent these, joined, and not a page of
 * the log. To parse rows again for each of a hundred readers took two thirds of the time of a burst.
 */

/** The most bytes of recent frames of one prediction, however many readers it has. */
const MOST_BYTES = 256 * 1024;
/** A joined chunk ends with the frame that exceeds this. */
const JOINED_BYTES = 32 * 1024;

class Recent {
  #frames: ShownEvents[] = [];
  #bytes = 0;
  /** The chunk that was joined last: most readers are equally far behind. */
  #joined: ShownEvents | undefined;

  add(frame: ShownEvents): void {
    this.#frames.push(frame);
    this.#bytes += frame.bytes.byteLength;
    while (this.#bytes > MOST_BYTES) this.#bytes -= this.#frames.shift()?.bytes.byteLength ?? 0;
  }

  clear(): void {
    this.#frames = [];
    this.#bytes = 0;
    this.#joined = undefined;
  }

  /** Returns the events after `position`; undefined when the reader must look into the log. */
  after(position: number): EncodedEvents | undefined {
    const from = this.#frames.findIndex(({ last }) => last > position);
    const next = this.#frames[from];
    // Readers that come from the log may be within a frame, or before a gap of the ids.
    if (!next || position >= next.first || (from === 0 && position !== next.first - 1))
      return undefined;
    const frames = upTo(JOINED_BYTES, this.#frames.slice(from));
    const last = frames.at(-1)?.last ?? next.last;
    if (this.#joined?.first !== next.first || this.#joined.last !== last)
      this.#joined = { first: next.first, last, bytes: joined(frames) };
    return this.#joined;
  }
}

function upTo(most: number, frames: ShownEvents[]): ShownEvents[] {
  let bytes = 0;
  const end = frames.findIndex((frame) => {
    bytes += frame.bytes.byteLength;
    return bytes >= most;
  });
  return end < 0 ? frames : frames.slice(0, end + 1);
}

function joined(frames: ShownEvents[]): Uint8Array {
  const all = new Uint8Array(frames.reduce((sum, { bytes }) => sum + bytes.byteLength, 0));
  let at = 0;
  for (const { bytes } of frames) {
    all.set(bytes, at);
    at += bytes.byteLength;
  }
  return all;
}

/** Calls that wait for the prediction to end, each with its own time limit. */

export class Waiters {
  readonly #replacement: ReplacementCheck;
  readonly #all = new Set<() => void>();

  constructor(replacement: ReplacementCheck) {
    this.#replacement = replacement;
  }

  get size(): number {
    return this.#all.size;
  }

  wait(seconds: number): Promise<void> {
    return new Promise((resolve) => {
      const release = this.#replacement.hold();
      const leave = () => {
        clearTimeout(timer);
        release();
        this.#all.delete(leave);
        resolve();
      };
      const timer = setTimeout(leave, seconds * 1000);
      this.#all.add(leave);
    });
  }

  releaseAll(): void {
    for (const leave of [...this.#all]) leave();
  }
}
