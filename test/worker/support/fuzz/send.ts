/** Sends a request of the fuzzer, and reads its answer. */
import { exports } from "cloudflare:workers";
import type { Sent } from "./tricks.ts";
import type { Received } from "./verdict.ts";

/** Calls that wait for a model. */
export const CALL =
  /\/v1\/vendor[ab]\/(?:audio|chat|completions|embeddings|images|messages|moderations|rerank|responses(?:\/compact)?(?:$|\?))/;
/** No runner takes the work of other models than the callable one, and a client that leaves cancels it. */
const CALL_MS = 500;
/** A created prediction waits for 60 s, longer than all other requests. A request that hangs is named. */
const LIMIT_MS = 90_000;

/** @param callable the model that a runner answers, however long the machine takes */
export async function send(
  { url, method, headers, body }: Sent,
  callable: string,
): Promise<Received> {
  const isUnanswered = CALL.test(url) && !(typeof body === "string" && body.includes(callable));
  const over = new AbortController();
  // The timer is cleared with the answer, because workerd allows 10,000 timers at most.
  const timer = setTimeout(
    () => over.abort(new DOMException("not answered", "TimeoutError")),
    isUnanswered ? CALL_MS : LIMIT_MS,
  );
  const { signal } = over;
  const init = { method, headers, body: body ?? null, redirect: "manual", signal } as const;
  try {
    const response = await exports.default.fetch(new Request(url, init));
    return {
      status: response.status,
      headers: response.headers,
      text: await reading(response),
    };
  } finally {
    clearTimeout(timer);
  }
}

/** An event stream is not read, for it may be silent for long: leaving it stops nothing. */
async function reading({ headers, body }: Response): Promise<string> {
  if (!body || !headers.get("content-type")?.startsWith("text/event-stream"))
    return new Response(body).text();
  await body.cancel();
  return "an event stream";
}
