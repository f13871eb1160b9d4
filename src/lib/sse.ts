/** Server-sent events as text, each with one `data:` line: JSON contains no raw line breaks. */
import { withoutSeparators } from "./json.ts";

/** A comment without a blank line: after an `id:`, a blank line is an event to openai-python and httpx-sse. */
export const HEARTBEAT = ": keep-alive\n";

/** The media type of a stream: readers that are not browsers take another encoding if it names none. */
export const EVENT_STREAM = "text/event-stream; charset=utf-8";

export const encodeEvent = (id: number, event: string, data: unknown) =>
  encodeJsonEvent(id, event, withoutSeparators(JSON.stringify(data)));

/** @param json the data, as JSON text. */
export const encodeJsonEvent = (id: number, event: string, json: string) =>
  `${eventHead(id, event)}${json}${EVENT_END}`;

export const eventHead = (id: number, event: string) => `id: ${id}\nevent: ${event}\ndata: `;
export const EVENT_END = "\n\n";
