/** Long-running requests: streams and waiting calls count against the account, and end with its token. */
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
export async function limitWaitingRequest<Result extends Response>(
  c: Context<AppEnv>,
  respond: () => Promise<Result>,
): Promise<Result> {
  try {
    return await countWaitingRequest(c.var.services, requesterOf(c), respond);
  } finally {
    // Nor may a revoked token see an error.
    await requireValidToken(c);
  }
}

/** Counts a stream until it ends, and ends it with its token. @throws ProblemError too_many_requests */
export async function limitOpenStream<Stream extends EventStream | undefined>(
  c: Context<AppEnv>,
  open: () => Promise<Stream>,
): Promise<Stream> {
  const stream = await countStream(c.var.services, requesterOf(c), open);
  if (stream) endStreamWhen(stream, () => tokenEndedEvent(c));
  return stream;
}

const requesterOf = (c: Context<AppEnv>): Requester => ({
  user_id: c.var.caller.user_id,
  signal: c.req.raw.signal,
});
