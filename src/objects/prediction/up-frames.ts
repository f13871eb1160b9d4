/** Reads the frames that a runner sends over its channel. */
import { exceededBound, isDeeper, type JsonBounds } from "../../lib/json-scan.ts";
import { memberFrom, oneLineJson } from "../../lib/json-text.ts";
import { type EventsFrame, FRAME_BOUNDS, type UpFrame, upFrame } from "../../protocol/channel.ts";
import { encodeEvents, writtenEvents } from "./log-events.ts";

/**
 * A text of this length cannot have too many values, and is parsed quickly however deep it is: its depth is
 * measured afterwards, where there is any. Scanning a frame of tokens took a sixth of the time of all other
 * work.
 */
const SMALL_UNITS = 64 * 1024;

/** A frame, an array of events and an event are around each value. */
const VALUE_DEPTH = FRAME_BOUNDS.depth - 3;

/** A frame with events, and the JSON of each one's data. */
export type ReadEvents = EventsFrame & { texts: string[] };
export type ReadFrame = ReadEvents | Exclude<UpFrame, EventsFrame>;

/** @returns the bound that the frame exceeds; undefined when the message is no frame */
export function parseFrame(
  message: string | ArrayBuffer,
): ReadFrame | keyof JsonBounds | undefined {
  if (typeof message !== "string") return undefined;
  const isSmall = message.length <= SMALL_UNITS;
  const exceeded = isSmall ? undefined : exceededBound(message, FRAME_BOUNDS);
  if (exceeded) return exceeded;
  try {
    const frame = upFrame.parse(JSON.parse(message));
    if (isSmall && isDeep(frame)) return "depth";
    return frame.type === "events" ? { ...frame, texts: textsOf(frame, message) } : frame;
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

/**
 * Line breaks: JSON allows some between values, and readers take others for the end of a line inside of one.
 */
const LINE_BREAKS = /[\n\r\u0085\u2028\u2029]/;

/** The data of each event as it was written: an output has all of its digits. */
function textsOf({ events }: EventsFrame, message: string): string[] {
  const text = LINE_BREAKS.test(message) ? oneLineJson(message) : message;
  const written = writtenEvents(text, memberFrom(text, "events")) ?? [];
  const isWhole =
    written.length === events.length && written.every(({ event }, n) => event === events[n]?.event);
  return isWhole ? written.map(({ json }) => json) : encodeEvents(events).map(({ json }) => json);
}
