/** The frames of a channel, as JSON. */
import { utf8Length } from "../lib/buffer.ts";
import { type Finish, WINDOW_BYTES } from "../protocol/channel.ts";

/**
 * Larger frames bring no gain and are rejected a little above this size. A single output may be as
 * large as the output limit and then travels alone; anything else is split. This size also keeps a
 * frame below the protocol's 10,000 events, since none is shorter than 27 bytes.
 */
export const FRAME_BYTES = 256 * 1024;

export interface Portion {
  events: string[];
  /** Set in the last portion only. */
  finish?: Finish;
}

export interface Frame {
  text: string;
  bytes: number;
  finish?: Finish;
  sends: number;
}

/**
 * Replaces a portion that cannot be serialized, for example because it is nested too deeply: a
 * defect.
 */
const UNREPORTABLE: Portion = {
  events: [],
  finish: {
    status: "failed",
    output: "none",
    error: { source: "internal", message: "The runner could not report the run." },
  },
};

export function createFrame(seq: number, portion: Portion): Frame {
  try {
    const { events, finish } = portion;
    const end = finish ? `,"finish":${JSON.stringify(finish)}` : "";
    const text = `{"type":"events","seq":${seq},"events":[${events.join()}]${end}}`;
    return { text, bytes: utf8Length(text), finish, sends: 0 };
  } catch {
    // No caller handles an error here: it would end the process and all its runs.
    return createFrame(seq, UNREPORTABLE);
  }
}

/** The frames of a channel that were sent and not yet acknowledged, oldest first. */
export class Window {
  #frames: Frame[] = [];
  #bytes = 0;
  /** The sequence number of the last frame that was acknowledged, and of the last one made. */
  #acknowledged = 0;
  #last = 0;

  get last(): number {
    return this.#last;
  }

  get empty(): boolean {
    return this.#frames.length === 0;
  }

  /** Whether another frame may be sent. */
  get open(): boolean {
    return this.#frames.length === 0 || this.#bytes + FRAME_BYTES <= WINDOW_BYTES;
  }

  /** Whether the last frame of the run has been made. */
  get finished(): boolean {
    return this.#frames.at(-1)?.finish !== undefined;
  }

  get frames(): readonly Frame[] {
    return this.#frames;
  }

  add(frame: Frame): void {
    this.#last += 1;
    this.#bytes += frame.bytes;
    this.#frames.push(frame);
  }

  /**
   * Whether the prediction may be at this frame: at or after the last acknowledged frame, and not after the
   * last sent one.
   */
  includes(seq: number): boolean {
    return seq >= this.#acknowledged && seq <= this.#last;
  }

  /** Removes the frames up to this one. @returns those removed */
  acknowledge(seq: number): Frame[] {
    if (!this.includes(seq)) return [];
    const removed = this.#frames.splice(0, seq - this.#acknowledged);
    this.#acknowledged = seq;
    for (const { bytes } of removed) this.#bytes -= bytes;
    return removed;
  }
}
