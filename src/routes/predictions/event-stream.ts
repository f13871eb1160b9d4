/** Server-sent event streams: their headers and their documentation. */

import { z } from "@hono/zod-openapi";
import { EVENT_STREAM } from "../../lib/sse.ts";

/** The description of operations that respond with one. */
export const STREAM = `Server-sent events, from the beginning or after an event. Each has an \`id\`, an integer that rises from 1 (not always by one: compare ids, do not count them), and one JSON value as \`data\`. Requires the scope \`read\` or \`predict\`.

| Event | Data |
| --- | --- |
| \`status\` | \`{"status"}\`, with the number of the \`attempt\` that has started; \`lost\` or \`returned\` is the number of an attempt whose runner was lost or handed it back, after which the prediction waits for another runner; the first event has the \`prediction\` itself |
| \`setup\` | \`{"phase", "message", "progress", "logs"}\` while the container is pulled and started: \`phase\` is \`pulling\`, \`starting\` or \`ready\`, \`progress\` is 0 to 1 where known |
| \`output\` | one value: a part of the output, or all of it |
| \`logs\` | text that the model has printed |
| \`metrics\` | \`{"input_tokens", "output_tokens"}\` and other counts of the model |
| \`error\` | the \`error\` of a prediction that failed |
| \`done\` | the final prediction without input and output; nothing follows |
| \`problem\` | without an \`id\`: an error that says why the stream ends. When a token expires or is revoked its streams end within 10 s; resume with another token |

A comment every 15 s keeps the connection open. Reconnect with \`after_id\`, or let an \`EventSource\` do it with \`Last-Event-ID\`: each later event comes exactly once. Events are sent as they come and stored within 250 ms: if the runner and the prediction's object fail together, at most what was sent in these 250 ms is lost, and the events that follow have ids beyond it. The end is stored before it is sent. The stream of a prediction that has ended replays to \`done\`; a request after that is a 204, so that an \`EventSource\` stops.

A browser's \`EventSource\` cannot send a token, and a token does not belong in a page: read the stream on your server, where the npm package \`eventsource\` accepts a custom \`fetch\` that adds it.

An \`EventSource\` gives \`error\` to its \`onerror\` as well, which it also calls when the connection is lost: the prediction's failure is a \`MessageEvent\` and has \`data\`, a lost connection is a plain \`Event\` and has none. Or listen for \`done\` alone, which has the \`error\` too.`;

const EXAMPLE = `id: 1
event: status
data: {"status":"pending"}

id: 2
event: output
data: "The Queen"

id: 3
event: done
data: {"id":"01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e","status":"succeeded"}

`;

export const eventStreamContent = {
  "text/event-stream": { schema: z.string(), example: EXAMPLE },
};

/**
 * Returns the id of the event after which a stream begins. The header of a reconnecting EventSource is newer
 * than the query of its URL.
 */
export const afterOf = (lastEventId: string | undefined, afterId: string | undefined): number =>
  Number(numberIn(lastEventId) ?? numberIn(afterId) ?? 0);

const numberIn = (text = "") => /^\d{1,15}$/.exec(text)?.[0];

/**
 * @param stream as its object made it: passed on unchanged, it costs the Worker nothing. Null when no further
 * event will come: a 204
 */
export function eventStream(
  stream: ReadableStream<Uint8Array> | null,
  preferenceApplied: string | undefined,
  headers: Record<string, string> = {},
): Response {
  return new Response(stream, {
    status: stream ? 200 : 204,
    headers: {
      ...headers,
      ...(stream && { "content-type": EVENT_STREAM }),
      "cache-control": "no-store",
      // Keeps nginx from buffering the stream.
      "x-accel-buffering": "no",
      ...(preferenceApplied !== undefined && { "preference-applied": preferenceApplied }),
    },
  });
}
