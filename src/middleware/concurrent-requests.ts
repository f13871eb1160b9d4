/** Answers that are waited for: they count as streams do, and end like these with whoever asked. */
import type { Context } from "hono";
import type { AppEnv } from "../context.ts";
import {
  countStream,
  countWaitingRequest,
  type Requester,
} from "../services/accounts/concurrency-limit.ts";
import type { EventStream } from "../services/predictions/event-stream.ts";
import { requireValidToken, tokenEndedEvent } from "./authentication.ts";
import { endStreamWhen } from "./stream-end.ts";

/** @throws ProblemError too_many_requests; unauthenticated when the token ended meanwhile */
export async function limitWaitingRequest<Answer extends Response>(
  c: Context<AppEnv>,
  answering: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await countWaitingRequest(c.var.services, readerOf(c), answering);
  } finally {
    // Also of what has gone wrong they are told nothing.
    await requireValidToken(c);
  }
}

/** A stream, from the request on to the end of its token. @throws ProblemError too_many_requests */
export async function limitOpenStream<Stream extends EventStream | undefined>(
  c: Context<AppEnv>,
  opening: () => Promise<Stream>,
): Promise<Stream> {
  const stream = await countStream(c.var.services, readerOf(c), opening);
  if (stream) endStreamWhen(stream, () => tokenEndedEvent(c));
  return stream;
}

const readerOf = (c: Context<AppEnv>): Requester => ({
  user_id: c.var.caller.user_id,
  signal: c.req.raw.signal,
});
