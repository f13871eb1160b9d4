/** Server-sent event streams: their headers, and what the document says of them. */
import { z } from "@hono/zod-openapi";
import type { EventStream } from "../../services/predictions/event-stream.ts";

/** The description of an operation that answers with one. */
export const STREAM = `Server-sent events, from the beginning or after an event. Each has an \`id\` that rises by one from 1 and one JSON value as \`data\`. Needs the scope \`read\` or \`predict\`.

| Event | Data |
| --- | --- |
| \`status\` | \`{"status"}\`, and the number of the \`attempt\` that has begun; \`lost\` (its runner) or \`returned\` (by its runner) is the number of one that came to nothing, and another runner is waited for; the first has the \`prediction\` itself |
| \`setup\` | \`{"phase", "message", "progress", "logs"}\` while the container is pulled and started: \`phase\` is \`pulling\`, \`starting\` or \`ready\`, \`progress\` 0 to 1 where it is known |
| \`output\` | one value: a part of the output, or the whole of it |
| \`logs\` | text that the model has printed |
| \`metrics\` | \`{"input_tokens", "output_tokens"}\` and what else the model counts |
| \`error\` | the \`error\` of a prediction that failed |
| \`done\` | the final prediction without input and output; nothing follows |
| \`problem\` | without an \`id\`: why you may not read on, as an error has it. The token has expired or is revoked, and within 10 s its streams end; resume with another |

A comment every 15 s keeps the connection open. Reconnect with \`after_id\`, or let an \`EventSource\` do it with \`Last-Event-ID\`: each later event comes exactly once. A prediction that has ended replays to \`done\`; asked again from there the answer is 204, so that an \`EventSource\` stops.

The \`EventSource\` of browsers sends no token, and a token has no place in a page: read the stream on your server, where the npm package \`eventsource\` takes a \`fetch\` of yours that adds it.

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
 * The id of the event after which a stream begins. What a reconnecting EventSource says is later
 * than what its address was made with.
 */
export const afterOf = (lastEventId: string | undefined, afterId: string | undefined): number =>
  Number(numberIn(lastEventId) ?? numberIn(afterId) ?? 0);

const numberIn = (text = "") => /^\d{1,15}$/.exec(text)?.[0];

/** @param stream undefined when nothing more will come: a 204 */
export function eventStream(
  stream: EventStream | undefined,
  preferenceApplied: string | undefined,
  headers: Record<string, string> = {},
): Response {
  return new Response(stream?.body, {
    status: stream ? 200 : 204,
    headers: {
      ...headers,
      ...(stream && { "content-type": "text/event-stream" }),
      "cache-control": "no-store",
      // Proxies that gather what they pass on would make a stream of it in the wrong sense.
      "x-accel-buffering": "no",
      ...(preferenceApplied !== undefined && { "preference-applied": preferenceApplied }),
    },
  });
}
