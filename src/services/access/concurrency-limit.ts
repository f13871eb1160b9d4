/**
 * Limits an account's open streams and waiting requests (domain/accounts/open-requests.ts). Streams that the
 * Worker passes on unchanged are counted in the prediction's object.
 */
import { OpenRequest } from "../../domain/accounts/open-requests.ts";
import { ProblemError } from "../../errors/errors.ts";
import { holdForRequest } from "../../lib/current-request.ts";
import type { Services } from "../services.ts";

/**
 * The exports that an account may read at once: each calls five objects at a time, and has up to 30 MB in
 * memory.
 */
const MAX_EXPORTS = 2;

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
  userId: string,
  opening: () => Promise<Stream>,
): Promise<Stream> {
  return untilOver(enter(services, userId), opening);
}

/** Counts an export as a stream, and among the account's exports. @throws ProblemError too_many_requests */
export const countExport = (
  services: Services,
  userId: string,
  opening: () => Promise<EventStream>,
): Promise<EventStream> =>
  countStream(services, userId, async () => {
    const entered = OpenRequest.enter(`exports of ${userId}`, MAX_EXPORTS);
    if (!entered)
      throw tooManyConnections(
        `${MAX_EXPORTS} exports of your account are in progress. Wait for one to finish, or cancel it.`,
      );
    return untilOver(holdForRequest(entered), opening);
  });

/** The verifications of a chain at once: each reads and hashes all of its entries. */
const MAX_VERIFICATIONS = 2;

/** @throws ProblemError too_many_requests */
export async function countVerification<Answer>(
  chain: string,
  verifying: () => Promise<Answer>,
): Promise<Answer> {
  const entered = OpenRequest.enter(`verifications of ${chain}`, MAX_VERIFICATIONS);
  if (!entered)
    throw tooManyConnections("This audit log is being verified already. Wait for the result.");
  const leave = holdForRequest(entered);
  try {
    return await verifying();
  } finally {
    leave();
  }
}

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
  userId: string,
  waiting: () => Promise<Answer>,
): Promise<Answer> {
  const leave = enter(services, userId);
  try {
    return await waiting();
  } finally {
    leave();
  }
}

/** @returns ends the count; calling it again has no effect */
function enter(services: Services, userId: string): () => void {
  const entered = OpenRequest.enter(userId, services.settings.maxStreams);
  if (!entered) throw tooManyOpen(services);
  return holdForRequest(entered);
}

/** A stream that the Worker itself writes: it can be counted, and ended when its reader's access ends. */
export interface EventStream {
  body: ReadableStream<Uint8Array>;
  /** Resolves when the stream has ended or its reader has left. */
  over: Promise<void>;
  /** Ends the stream between two events, with these last words in its own format. */
  end(words: string): Promise<void>;
  /** The version that has answered the call of a deployment, if there was output before the stream began. */
  answeredBy?: string | undefined;
}
