/** Server-sent events as text, each with one `data:` line: JSON contains no raw line breaks. */

/** A comment without a blank line: after an `id:`, a blank line is an event to openai-python and httpx-sse. */
export const HEARTBEAT = ": keep-alive\n";

export const encodeEvent = (id: number, event: string, data: unknown) =>
  encodeJsonEvent(id, event, JSON.stringify(data));

/** @param json the data, as JSON text. */
export const encodeJsonEvent = (id: number, event: string, json: string) =>
  `${eventHead(id, event)}${json}${EVENT_END}`;

export const eventHead = (id: number, event: string) => `id: ${id}\nevent: ${event}\ndata: `;
export const EVENT_END = "\n\n";
