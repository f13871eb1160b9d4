/** The frames of a channel that were sent and not yet acknowledged, oldest first. */
import { WINDOW_BYTES } from "../../../src/protocol/channel.ts";
import { FRAME_BYTES, type Frame } from "./frame.ts";

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

  /** Whether the prediction may be at this frame: it has all that it acknowledged, and no more than was sent. */
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
