/**
 * A job's channel to its prediction (src/protocol/channel.ts) over any number of connections:
 * numbers the frames, keeps the unacknowledged ones, resends them after a disconnect, and decides
 * when the next one is sent.
 */

import { backoffMs } from "../lib/retry.ts";
import type { DownFrame, Finish, ReleaseFrame, ReportReply } from "../protocol/channel.ts";
import type { RunnerSettings } from "../protocol/runner.ts";
import { createFrame, type Frame, type Portion, Window } from "./frame.ts";

/** The source of the frames' content. */
export interface Outbox {
  readonly empty: boolean;
  /** The run has ended; the source adds no more events. */
  readonly finished: boolean;
  /** Whether the frame is sent at once, because clients wait for its content. */
  readonly urgent: boolean;
  take(): Portion;
}

/** One WebSocket of a channel. */
export interface Connection {
  /** Does nothing if the connection is not open: the sender learns this from the close. */
  send(text: string): void;
  close(): void;
}

export interface ConnectionTiming {
  pingMs: number;
  /** A connection that was silent for this long is closed. */
  silenceMs: number;
}

export interface Closed {
  /** The server will not accept this attempt again. */
  final: boolean;
  reason: string;
}

export interface ConnectionHandlers {
  onFrame: (frame: DownFrame) => void;
  onPong: () => void;
  /** Called exactly once. */
  onClose: (closed: Closed) => void;
}

export type ChannelEnd =
  /** The finish was acknowledged. */
  | { kind: "finished"; finish: Finish }
  | { kind: "released" }
  /** The attempt no longer belongs to this runner. */
  | { kind: "fenced"; reason: string }
  /** The prediction was unreachable for too long. */
  | { kind: "lost"; reason: string };

export interface ChannelOptions {
  connect: (timing: ConnectionTiming, handlers: ConnectionHandlers) => Connection;
  /** Sends the only frame of a short run without a connection. */
  post: (frame: string) => Promise<ReportReply>;
  settings: Pick<RunnerSettings, "ping_seconds" | "lease_seconds">;
  outbox: Outbox;
  onCancel: (reason: string) => void;
  /** Called with the prediction's receipt for this attempt. */
  onReceipt: (receipt: string) => void;
  /** Called when the prediction has stored frames. */
  onStored?: () => void;
}

/**
 * A run that ends within this time is reported by a single request over a kept-alive connection,
 * since opening a channel takes several round trips. A run with output gets its channel at once;
 * one that will stream gets it even earlier. With 25 ms a fifth of the no-op runs opened one on a
 * busy machine, and made it busier.
 */
const SHORT_RUN_MS = 100;
/**
 * The first frame marks the prediction as started. It is due this long after the welcome even if empty; a run
 * that has ended by then needs only this frame.
 */
const FIRST_FRAME_MS = 25;
/** Applies after the first retry, which is immediate. */
const RECONNECT = { baseMs: 200, maxMs: 5_000 };
/** A frame that breaks every connection (too large, not understood) is not sent forever. */
const MAX_SENDS = 10;
/** Releasing a job is optional: without it the lease expires. */
const RELEASE_TIMEOUT_MS = 5_000;
/** The limit of its reason. */
const MAX_REASON_CHARS = 1_000;

const clear = (timer: ReturnType<typeof setTimeout> | undefined) => {
  if (timer !== undefined) clearTimeout(timer);
};

export class Channel {
  readonly ended: Promise<ChannelEnd>;
  readonly #end: (end: ChannelEnd) => void;
  readonly #options: ChannelOptions;
  #over = false;
  #connection: Connection | undefined;
  /** Whether a connection or the report of a short run was started. */
  #opened = false;
  #welcome = false;
  #breaks = 0;
  readonly #window = new Window();
  /** The shortest time between two frames, as the prediction said last. */
  #flushMs = 0;
  #release: Omit<ReleaseFrame, "type"> | undefined;
  #welcomedAt = 0;
  #sentAt = 0;
  #contactAt = 0;
  /** The timer of the next frame if connected, otherwise of the next connection. */
  #timer: ReturnType<typeof setTimeout> | undefined;
  #releaseTimer: ReturnType<typeof setTimeout> | undefined;
  #immediate: ReturnType<typeof setImmediate> | undefined;

  constructor(options: ChannelOptions) {
    this.#options = options;
    const { promise, resolve } = Promise.withResolvers<ChannelEnd>();
    this.ended = promise;
    this.#end = resolve;
  }

  /** @param streams the run is known to put out one piece after the other */
  open(streams = false): void {
    this.#contactAt = performance.now();
    if (streams) this.#connect();
    else this.#timer = setTimeout(() => this.#connect(), SHORT_RUN_MS);
  }

  /**
   * To be called when the outbox has changed. Sends at the end of the tick, so that an output and
   * its finish share a frame.
   */
  notify(): void {
    if (this.#over || (this.#opened && !this.#welcome)) return;
    this.#immediate ??= setImmediate(() => {
      this.#immediate = undefined;
      if (this.#opened) this.#pump();
      else this.#begin();
    });
  }

  /** Begins without a connection: a run that has ended needs none, and a run with output opens one. */
  #begin(): void {
    const { outbox } = this.#options;
    if (this.#over || this.#opened || !(outbox.urgent || this.#release !== undefined)) return;
    if (outbox.finished && this.#release === undefined) this.#post(this.#frame());
    else this.#connect();
  }

  #post(frame: Frame): void {
    this.#opened = true;
    clear(this.#timer);
    // A result that does not fit into one frame, and any error here, needs the connection.
    if (!frame.finish) return this.#connect();
    this.#options.post(frame.text).then(
      (reply) => {
        if (reply.type !== "refused") this.#receive(reply);
        else if (!this.#over) this.#connect();
      },
      () => this.#over || this.#connect(),
    );
  }

  /**
   * Releases the job as soon as all frames are acknowledged.
   * @param hasFailed whether this machine failed its start
   */
  release(reason: string, hasFailed = false): void {
    if (this.#over || this.#release !== undefined) return;
    const short = reason.slice(0, MAX_REASON_CHARS);
    this.#release = { reason: short, ...(hasFailed && { start_failed: true }) };
    this.#releaseTimer = setTimeout(
      () => this.#settle({ kind: "lost", reason: "could not be released in time" }),
      RELEASE_TIMEOUT_MS,
    );
    this.notify();
  }

  #connect(): void {
    this.#opened = true;
    clear(this.#timer);
    const { connect, settings } = this.#options;
    const pingMs = settings.ping_seconds * 1000;
    // A connection is dropped if a ping is unanswered until the next one: early enough to reconnect
    // before the lease expires.
    const silenceMs = Math.min(2 * pingMs, settings.lease_seconds * 1000);
    this.#connection = connect(
      { pingMs, silenceMs },
      {
        onFrame: (frame) => this.#receive(frame),
        onPong: () => this.#contact(),
        onClose: (closed) => this.#broken(closed),
      },
    );
  }

  #receive(frame: DownFrame): void {
    if (this.#over) return;
    this.#contactAt = performance.now();
    if ("receipt" in frame && frame.receipt !== undefined) this.#options.onReceipt(frame.receipt);
    if ("flush_ms" in frame && frame.flush_ms !== undefined) this.#flushMs = frame.flush_ms;
    switch (frame.type) {
      case "welcome":
        this.#welcomed(frame.seq);
        break;
      case "ack":
        this.#acknowledged(frame.seq);
        break;
      case "flush":
        this.#pump();
        break;
      case "cancel":
        this.#options.onCancel(frame.reason);
        break;
      case "fenced":
        this.#settle({ kind: "fenced", reason: frame.reason });
    }
  }

  /** The connection works, so the next disconnect counts as the first. */
  #contact(): void {
    this.#contactAt = performance.now();
    this.#breaks = 0;
  }

  #welcomed(seq: number): void {
    if (!this.#window.includes(seq)) {
      const reason = `the prediction is at frame ${seq}, this runner at ${this.#window.last}`;
      this.#settle({ kind: "lost", reason });
      return;
    }
    this.#welcome = true;
    this.#welcomedAt = performance.now();
    this.#drop(seq);
    for (const frame of this.#window.frames) this.#send(frame);
    this.#pump();
  }

  #acknowledged(seq: number): void {
    this.#drop(seq);
    this.#pump();
  }

  /** Drops the frames up to `seq`, which the prediction has stored. */
  #drop(seq: number): void {
    const frames = this.#window.acknowledge(seq);
    if (frames.length > 0) {
      this.#contact();
      this.#options.onStored?.();
    }
    const finish = frames.at(-1)?.finish;
    if (finish) this.#settle({ kind: "finished", finish });
  }

  #pump(): void {
    // Without a connection the timer is that of the next connection and must not be cleared.
    if (this.#over || !this.#welcome) return;
    clear(this.#timer);
    const wait = this.#wait(performance.now());
    if (wait === undefined) return;
    if (wait > 0) this.#timer = setTimeout(() => this.#pump(), wait);
    else if (this.#release !== undefined) this.#handBack(this.#release);
    else this.#next();
  }

  #next(): void {
    this.#send(this.#frame());
    this.#pump();
  }

  #frame(): Frame {
    const frame = createFrame(this.#window.last + 1, this.#options.outbox.take());
    this.#window.add(frame);
    return frame;
  }

  /** Milliseconds until the next frame is due; undefined if there is none, or none may be sent. */
  #wait(now: number): number | undefined {
    const { outbox } = this.#options;
    if (this.#release !== undefined) return this.#window.empty ? 0 : undefined;
    if (!this.#window.open || this.#window.finished) return undefined;
    if (outbox.urgent) return 0;
    if (this.#window.last === 0) return this.#welcomedAt + FIRST_FRAME_MS - now;
    if (outbox.empty) return undefined;
    return this.#sentAt + this.#flushMs - now;
  }

  #send(frame: Frame): void {
    if (this.#over) return;
    frame.sends++;
    if (frame.sends > MAX_SENDS) {
      const reason = `a frame was sent ${MAX_SENDS} times without an acknowledgement`;
      this.#settle({ kind: "lost", reason });
      return;
    }
    this.#sentAt = performance.now();
    this.#connection?.send(frame.text);
  }

  #handBack(release: Omit<ReleaseFrame, "type">): void {
    this.#connection?.send(JSON.stringify({ type: "release", ...release }));
    this.#settle({ kind: "released" });
  }

  #broken({ final, reason }: Closed): void {
    if (this.#over) return;
    this.#connection = undefined;
    this.#welcome = false;
    clear(this.#timer);
    const silentMs = performance.now() - this.#contactAt;
    if (final) {
      this.#settle({ kind: "fenced", reason });
    } else if (silentMs > this.#options.settings.lease_seconds * 2000) {
      const words = `no contact for ${Math.round(silentMs / 1000)} s: ${reason}`;
      this.#settle({ kind: "lost", reason: words });
    } else {
      const delayMs = this.#breaks === 0 ? 0 : backoffMs(this.#breaks, RECONNECT);
      this.#breaks++;
      this.#timer = setTimeout(() => this.#connect(), delayMs);
    }
  }

  #settle(end: ChannelEnd): void {
    if (this.#over) return;
    this.#over = true;
    clear(this.#timer);
    clear(this.#releaseTimer);
    if (this.#immediate !== undefined) clearImmediate(this.#immediate);
    this.#connection?.close();
    this.#connection = undefined;
    this.#end(end);
  }
}
