/** Long-running requests: streams and waiting calls count against the account, and end with its token. */
import type { Context } from "hono";
import type { AppEnv } from "../context.ts";
import { CHECK_MS } from "../domain/accounts/access.ts";
import { problemEvent } from "../errors/errors.ts";
import { accessEnded } from "../services/access/authentication.ts";
import {
  countExport,
  countStream,
  countWaitingRequest,
  type EventStream,
} from "../services/access/concurrency-limit.ts";
import { streamReader } from "../services/predictions/event-log.ts";
import { requireValidToken, tokenEndedWords } from "./authentication.ts";
import { type LimitedContext, limitRate } from "./rate-limit.ts";

/** The context of a request with a token, or of a page. */
interface CallerContext extends LimitedContext {
  req: LimitedContext["req"] & { method: string };
  var: LimitedContext["var"] & Pick<AppEnv["Variables"], "services" | "caller">;
}

/** @throws ProblemError too_many_requests; unauthenticated, forbidden when the access ended meanwhile */
export async function limitWaitingRequest<Result extends Response>(
  c: Context<AppEnv>,
  respond: () => Promise<Result>,
): Promise<Result> {
  try {
    return await countWaitingRequest(c.var.services, c.var.caller.user_id, respond);
  } finally {
    // A caller whose access has ended does not see an error either.
    await requireValidToken(c);
  }
}

/**
 * Counts a stream that the Worker writes until it ends, and ends it with its token.
 * @throws ProblemError too_many_requests
 */
export async function limitOpenStream<Stream extends EventStream>(
  c: Context<AppEnv>,
  open: () => Promise<Stream>,
): Promise<Stream> {
  const stream = await countStream(c.var.services, c.var.caller.user_id, open);
  c.set("answeredBy", stream.answeredBy);
  return watched(c, stream, () => tokenEndedWords(c, problemEvent));
}

/**
 * Counts an export of the account until it ends, and among the account's changes: the audit log records it.
 * @param lastWords returns a line of JSON once the reader's access has ended
 */
export async function limitExport(
  c: CallerContext,
  open: () => Promise<EventStream>,
  lastWords: () => Promise<string | undefined>,
): Promise<EventStream> {
  await limitRate(c, "writes", c.var.caller.user_id);
  return watched(c, await countExport(c.var.services, c.var.caller.user_id, open), lastWords);
}

/** Ends a stream that the Worker writes when `lastWords` returns any. */
export async function watched<Stream extends EventStream>(
  { req }: { req: { method: string } },
  stream: Stream,
  lastWords: () => Promise<string | undefined>,
): Promise<Stream> {
  if (req.method === "HEAD") {
    // A HEAD response has no body, so its stream would count until the isolate ends.
    await stream.body.cancel();
    return { ...stream, body: new Blob().stream() };
  }
  endStreamWhen(stream, lastWords);
  return stream;
}

/**
 * Returns the reader of a stream that is passed on unchanged, for its object, which counts and ends the
 * stream.
 */
export function tokenReader(c: Context<AppEnv>) {
  const { services, caller } = c.var;
  const lastWords = problemEvent(accessEnded(), c);
  const { token_id: id, user_id, signed_until: expires_at } = caller;
  return streamReader(services, { kind: "token", id, user_id, expires_at }, lastWords);
}

/**
 * Checks every CHECK_MS, not for each event.
 * @param check returns the stream's last event once access has ended
 */
export function endStreamWhen(stream: EventStream, check: () => Promise<string | undefined>): void {
  const timer = setInterval(async () => {
    const lastEvent = await check();
    if (lastEvent === undefined) return;
    clearInterval(timer);
    await stream.end(lastEvent);
  }, CHECK_MS);
  void stream.over.then(() => clearInterval(timer));
}
