/**
 * Limits an account's open streams and waiting requests, counted per isolate: each holds memory for
 * as long as it lasts. The readers of one prediction are counted exactly by its object.
 */
import { ProblemError } from "../../errors.ts";
import type { EventStream } from "../predictions/event-stream.ts";
import type { Services } from "../services.ts";

/** The account of a request, and the signal that its client has disconnected. */
export interface Requester {
  user_id: string;
  signal: AbortSignal;
}

/** Open requests by account. */
const open = new Map<string, number>();

/** The interval of heartbeats, which detect clients that disappeared without closing. */
const RETRY_SECONDS = "15";

export const tooManyConnections = (detail: string) =>
  new ProblemError("too_many_requests", detail, { "retry-after": RETRY_SECONDS });

/** Counts a stream until it ends. @throws ProblemError too_many_requests */
export async function countStream<Stream extends EventStream | undefined>(
  services: Services,
  reader: Requester,
  opening: () => Promise<Stream>,
): Promise<Stream> {
  const leave = enter(services, reader);
  const stream = await opening().catch((error: unknown) => {
    leave();
    throw error;
  });
  if (stream) void stream.over.then(leave);
  else leave();
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
function enter({ settings }: Services, { user_id, signal }: Requester): () => void {
  const others = open.get(user_id) ?? 0;
  if (others >= settings.maxStreams) {
    throw tooManyConnections(
      `You have ${settings.maxStreams} open streams and waiting requests. Close some, or create predictions without waiting and poll GET /v1/predictions/{id}. The operator can raise MAX_STREAMS.`,
    );
  }
  open.set(user_id, others + 1);
  let counts = true;
  const leave = () => {
    if (!counts) return;
    counts = false;
    release(user_id);
  };
  // When the client disconnects, the request is aborted and no `finally` runs.
  signal.addEventListener("abort", leave);
  return leave;
}

function release(userId: string): void {
  const others = (open.get(userId) ?? 1) - 1;
  if (others > 0) open.set(userId, others);
  else open.delete(userId);
}
