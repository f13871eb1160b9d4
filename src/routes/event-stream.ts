/** The headers of a server-sent event stream. */

/** @param log the body, or a 204 when there is nothing more. */
export function eventStream(
  log: Response,
  preferenceApplied: string | undefined,
  headers: Record<string, string> = {},
): Response {
  return new Response(log.body, {
    status: log.status,
    headers: {
      ...headers,
      ...(log.status === 200 && { "content-type": "text/event-stream" }),
      "cache-control": "no-store",
      // Proxies that gather what they pass on would make a stream of it in the wrong sense.
      "x-accel-buffering": "no",
      ...(preferenceApplied !== undefined && { "preference-applied": preferenceApplied }),
    },
  });
}
