/**
 * Limits an account's open streams and waiting requests (domain/accounts/open-requests.ts). Streams that
 * are passed on as they are count where they are made, in the prediction's object.
 */
import { OpenRequest } from "../../domain/accounts/open-requests.ts";
import { ProblemError } from "../../errors.ts";
import type { EventStream } from "../predictions/event-stream.ts";
import type { Services } from "../services.ts";

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
export async function countStream(
  services: Services,
  reader: Requester,
  opening: () => Promise<EventStream>,
): Promise<EventStream> {
  const leave = enter(services, reader);
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
