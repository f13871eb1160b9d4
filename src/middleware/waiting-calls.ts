/** Answers that are waited for: they count as streams do, and end like these with whoever asked. */
import type { Context } from "hono";
import type { App } from "../routes/context.ts";
import { countOpenReader, countWait, type Reader } from "../services/accounts/concurrency.ts";
import type { EventStream } from "../services/predictions/event-stream.ts";
import { requireStill, whyNotAnyMore } from "./authentication.ts";
import { endsWith } from "./stream-end.ts";

/** @throws ProblemError too_many_requests; unauthenticated when the token ended meanwhile */
export async function countWaitingCall<Answer extends Response>(
  c: Context<App>,
  answering: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await countWait(c.var.services, readerOf(c), answering);
  } finally {
    // Also of what has gone wrong they are told nothing.
    await requireStill(c);
  }
}

/** A stream, from the request on to the end of its token. @throws ProblemError too_many_requests */
export async function countOpenStream<Stream extends EventStream | undefined>(
  c: Context<App>,
  opening: () => Promise<Stream>,
): Promise<Stream> {
  const stream = await countOpenReader(c.var.services, readerOf(c), opening);
  if (stream) endsWith(stream, () => whyNotAnyMore(c));
  return stream;
}

const readerOf = (c: Context<App>): Reader => ({
  user_id: c.var.caller.user_id,
  signal: c.req.raw.signal,
});
