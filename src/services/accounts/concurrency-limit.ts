/**
 * What an account reads at once, as one isolate counts it: streams, and answers that are waited for.
 * Each costs it some memory for as long as it lasts. How many read one prediction its object counts
 * itself, exactly.
 */
import { ProblemError } from "../../errors.ts";
import type { EventStream } from "../predictions/event-stream.ts";
import type { Services } from "../services.ts";

/** Whose a request is, and when it is over because they have left. */
export interface Requester {
  user_id: string;
  signal: AbortSignal;
}

/** By account, where there are any. */
const open = new Map<string, number>();

/** A reader that has gone without a word is found out by the next heartbeat. */
const RETRY_SECONDS = "15";

export const tooManyConnections = (detail: string) =>
  new ProblemError("too_many_requests", detail, { "retry-after": RETRY_SECONDS });

/** A stream counts until its end. @throws ProblemError too_many_requests */
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

/** A wait counts until there is what was waited for. @throws ProblemError too_many_requests */
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

/** @returns what ends it: called twice it is one end */
function enter({ settings }: Services, { user_id, signal }: Requester): () => void {
  const others = open.get(user_id) ?? 0;
  if (others >= settings.maxStreams) {
    throw tooManyConnections(
      `You read or wait for ${settings.maxStreams} answers at once. Close some, or create without waiting and poll GET /v1/predictions/{id}; the operator can raise MAX_STREAMS.`,
    );
  }
  open.set(user_id, others + 1);
  let counts = true;
  const leave = () => {
    if (!counts) return;
    counts = false;
    release(user_id);
  };
  // Of a request whose caller has gone nothing is carried out any more, no `finally` either.
  signal.addEventListener("abort", leave);
  return leave;
}

function release(userId: string): void {
  const others = (open.get(userId) ?? 1) - 1;
  if (others > 0) open.set(userId, others);
  else open.delete(userId);
}
