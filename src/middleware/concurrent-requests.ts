/** Long-running requests: streams and waiting calls count against the account, and end with its token. */
import type { Context } from "hono";
import type { AppEnv } from "../context.ts";
import { problemEvent } from "../errors.ts";
import { accessEnded } from "../services/accounts/authentication.ts";
import {
  countStream,
  countWaitingRequest,
  type Requester,
} from "../services/accounts/concurrency-limit.ts";
import { streamReader } from "../services/predictions/event-log.ts";
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

/**
 * Counts a stream that the Worker writes until it ends, and ends it with its token.
 * @throws ProblemError too_many_requests
 */
export async function limitOpenStream(
  c: Context<AppEnv>,
  open: () => Promise<EventStream>,
): Promise<EventStream> {
  const stream = await countStream(c.var.services, requesterOf(c), open);
  endStreamWhen(stream, () => tokenEndedEvent(c));
  return stream;
}

/** Whoever reads a stream that is passed on as it is, for its object, which counts it and ends it. */
export function tokenReader(c: Context<AppEnv>) {
  const { services, caller } = c.var;
  const lastWords = problemEvent(accessEnded(), c);
  return streamReader(services, { kind: "token", id: caller.token_id }, caller.user_id, lastWords);
}

const requesterOf = (c: Context<AppEnv>): Requester => ({
  user_id: c.var.caller.user_id,
  signal: c.req.raw.signal,
});
