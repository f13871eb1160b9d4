/**
 * Limits an account's open streams and waiting requests (domain/accounts/open-requests.ts). Streams that
 * are passed on as they are count where they are made, in the prediction's object.
 */
import { CHECK_MS } from "../../domain/accounts/access-checks.ts";
import { OpenRequest } from "../../domain/accounts/open-requests.ts";
import { ProblemError } from "../../errors.ts";
import type { EventStream } from "../predictions/event-stream.ts";
import type { Services } from "../services.ts";

/** Exports of an account at once: each calls five objects at a time, and has up to 30 MB in memory. */
const MAX_EXPORTS = 2;

/** The account of a request, and the signal that its client has disconnected. */
export interface Requester {
  user_id: string;
  signal: AbortSignal;
}

/** The interval of heartbeats, which detect clients that disappeared without closing. */
const RETRY_SECONDS = "15";

export const tooManyConnections = (detail: string) =>
  new ProblemError("too_many_requests", detail, { "retry-after": RETRY_SECONDS });

export const tooManyOpen = ({ settings: { maxStreams } }: Services) =>
  tooManyConnections(
    `You have ${maxStreams} open streams and waiting requests. Close some, or create predictions without waiting and poll GET /v1/predictions/{id}. The operator can raise MAX_STREAMS.`,
  );

/** Counts a stream until it ends. @throws ProblemError too_many_requests */
export async function countStream<Stream extends EventStream>(
  services: Services,
  reader: Requester,
  opening: () => Promise<Stream>,
): Promise<Stream> {
  return untilOver(enter(services, reader), opening);
}

/** Counts an export as a stream, and among the account's exports. @throws ProblemError too_many_requests */
export const countExport = (
  services: Services,
  reader: Requester,
  opening: () => Promise<EventStream>,
): Promise<EventStream> =>
  countStream(services, reader, async () => {
    const entered = OpenRequest.enter(`exports of ${reader.user_id}`, MAX_EXPORTS);
    if (!entered)
      throw tooManyConnections(
        `${MAX_EXPORTS} exports of your account are under way. Wait until one has finished, or cancel it.`,
      );
    // Two requests that died without an end would shut the account out for as long as the isolate lives.
    entered.renew();
    const renewing = setInterval(() => entered.renew(), CHECK_MS);
    const leave = () => {
      clearInterval(renewing);
      entered.leave();
    };
    reader.signal.addEventListener("abort", leave);
    return untilOver(leave, opening);
  });

async function untilOver<Stream extends EventStream>(
  leave: () => void,
  opening: () => Promise<Stream>,
): Promise<Stream> {
  const stream = await opening().catch((error: unknown) => {
    leave();
    throw error;
  });
  void stream.over.then(leave);
  return stream;
}

/** Counts a request until its result is there. @throws ProblemError too_many_requests */
export async function countWaitingRequest<Answer>(
  services: Services,
  reader: Requester,
  waiting: () => Promise<Answer>,
): Promise<Answer> {
  const leave = enter(services, reader);
  try {
    return await waiting();
  } finally {
    leave();
  }
}

/** @returns ends the count; calling it again has no effect */
function enter(services: Services, { user_id, signal }: Requester): () => void {
  const entered = OpenRequest.enter(user_id, services.settings.maxStreams);
  if (!entered) throw tooManyOpen(services);
  const leave = () => entered.leave();
  // When the client disconnects, the request is aborted and no `finally` runs.
  signal.addEventListener("abort", leave);
  return leave;
}
