/** Reads what a runner sends over its channel. */
import { exceededBound, isDeeper, type JsonBounds } from "../../lib/json-scan.ts";
import { FRAME_BOUNDS, type UpFrame, upFrame } from "../../protocol/channel.ts";

/**
 * A text of this length cannot have too many values, and is parsed quickly however deep it is: its
 * depth is measured afterwards, where there is any. To scan a frame of tokens took a sixth of the time
 * that all else takes.
 */
const SMALL_UNITS = 64 * 1024;

/** A frame, an array of events and an event are around each value. */
const VALUE_DEPTH = FRAME_BOUNDS.depth - 3;

/** @returns the bound that it exceeds; undefined when it is no frame */
export function parseFrame(message: string | ArrayBuffer): UpFrame | keyof JsonBounds | undefined {
  if (typeof message !== "string") return undefined;
  const isSmall = message.length <= SMALL_UNITS;
  const exceeded = isSmall ? undefined : exceededBound(message, FRAME_BOUNDS);
  if (exceeded) return exceeded;
  try {
    const frame = upFrame.parse(JSON.parse(message));
    return isSmall && isDeep(frame) ? "depth" : frame;
  } catch {
    return undefined;
  }
}

function isDeep(frame: UpFrame): boolean {
  if (frame.type !== "events") return false;
  const { events, finish } = frame;
  return (
    isDeeper(finish?.error?.detail, VALUE_DEPTH) ||
    events.some(({ data }) => isDeeper(data, VALUE_DEPTH))
  );
}
