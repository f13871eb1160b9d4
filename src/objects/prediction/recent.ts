/**
 * What readers were shown last, encoded once: one that is a few frames behind is sent these, joined,
 * and not a page of the log. To parse rows again for each of a hundred readers took two thirds of
 * the time of a burst.
 */
import type { EncodedEvents, ShownEvents } from "./log-events.ts";

/** Of one prediction, however many readers it has. */
const MOST_BYTES = 256 * 1024;
/** What is joined ends with the frame that exceeds this. */
const JOINED_BYTES = 32 * 1024;

export class Recent {
  #frames: ShownEvents[] = [];
  #bytes = 0;
  /** What was joined last: most readers are equally far behind. */
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

  /** What follows the event `position`; undefined when the reader must look into the log. */
  after(position: number): EncodedEvents | undefined {
    const from = this.#frames.findIndex(({ last }) => last > position);
    const next = this.#frames[from];
    // One that comes from the log may be within a frame, or before a gap of the ids.
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
