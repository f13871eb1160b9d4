/** Streams end with what lets somebody read them: a token that is revoked, a session that is ended. */

const CHECK_MS = 5_000;
/** Of a check that others have made so short a time ago no other is made: CHECK_MS and this are less than 10 s. */
export const CHECKED_MS = 4_000;

const encoder = new TextEncoder();
const LF = 10;

/**
 * The same stream for as long as `check` finds nothing. It is asked beside the events, never for
 * each of them, and before one is handed on that comes after a pause.
 * @param check the last words, once nobody may read on
 */
export function endsWith(
  body: ReadableStream<Uint8Array>,
  check: () => Promise<string | undefined>,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let checkedAt = Date.now();
  let betweenEvents = true;
  let over = false;
  let timer: ReturnType<typeof setInterval> | null = null;

  function stop(): void {
    over = true;
    clearInterval(timer);
  }

  async function look(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    checkedAt = Date.now();
    const words = await check();
    if (words === undefined || over) return;
    stop();
    // Readers drop an event that is broken off, and would take our words for the rest of it.
    if (betweenEvents) controller.enqueue(encoder.encode(words));
    controller.close();
    await reader.cancel();
  }

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        timer = setInterval(() => void look(controller), CHECK_MS);
      },
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (!over && !done && Date.now() - checkedAt >= CHECK_MS) await look(controller);
          if (over) return;
          if (done) {
            stop();
            controller.close();
            return;
          }
          betweenEvents = value.at(-1) === LF && value.at(-2) === LF;
          controller.enqueue(value);
        } catch (error) {
          stop();
          throw error;
        }
      },
      cancel(reason) {
        stop();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

/** An answer that is a stream of events. @returns undefined for any other */
export function endingStream(
  response: Response,
  check: () => Promise<string | undefined>,
): Response | undefined {
  const { body, headers } = response;
  if (!body || !headers.get("content-type")?.startsWith("text/event-stream")) return undefined;
  return new Response(endsWith(body, check), response);
}
