/** Server-sent event streams: their headers and their documentation. */

import { z } from "@hono/zod-openapi";
import { EVENT_STREAM } from "../../lib/sse.ts";

/** The maximum idle limit of a stream. */
export const MAX_IDLE_SECONDS = 3_600;

/** The description of operations that respond with one. */
export const STREAM = `Returns server-sent events, from the beginning or after a given event. Each event has an \`id\`, an integer that increases from 1 and can skip numbers, and one JSON value as \`data\`. Requires the scope \`read\` or \`predict\`.

| Event | Data |
| --- | --- |
| \`status\` | \`{"status"}\`, with the number of the \`attempt\` when one starts. The first event includes the \`prediction\`. If the runner was lost or returned the prediction to the queue, \`lost\` or \`returned\` is the number of that attempt |
| \`setup\` | \`{"phase", "message", "progress", "logs"}\` while the image is pulled and the container starts. \`phase\` is \`pulling\`, \`starting\` or \`ready\`; \`progress\` is 0 to 1 if known |
| \`output\` | Part of the output, or all of it |
| \`logs\` | Text printed by the model |
| \`metrics\` | Counts from the model, such as \`{"input_tokens", "output_tokens"}\` |
| \`error\` | Why the prediction failed |
| \`done\` | The final prediction without input and output; always the last event |
| \`problem\` | An error that ends the stream early; has no \`id\`. A stream ends this way within 10 s of its token expiring or being revoked; resume with another token |

A comment every 15 s keeps the connection open. To resume, pass the last ID as \`after_id\`; an \`EventSource\` sends \`Last-Event-ID\`. You get every later event exactly once. Events are sent immediately and stored within 250 ms: if the runner's machine and the service both fail within that time, the events of those 250 ms are lost and later ones have higher IDs. \`error\` and \`done\` are stored before they are sent. A finished prediction replays to \`done\`; a request after that returns 204, so an \`EventSource\` stops.

The browser's \`EventSource\` cannot send a token, and a page should not hold one. Read the stream on your server instead, where the npm package \`eventsource\` takes a \`fetch\` that adds the header.

\`EventSource\` calls \`onerror\` both for the \`error\` event of a failed prediction and for a lost connection. Only the first is a \`MessageEvent\` with \`data\`. Or listen only for \`done\`, which includes the error.`;

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
