/**
 * The streams that an account reads at once, as one isolate counts them: each costs it some memory
 * for as long as it lasts. How many read one prediction its object counts itself, exactly.
 */
import { ProblemError } from "../errors.ts";
import type { Services } from "./services.ts";

/** By account, where there are any. */
const open = new Map<string, number>();

/** A reader that has gone without a word is found out by the next heartbeat. */
const RETRY_SECONDS = "15";

export const tooManyReaders = (detail: string) =>
  new ProblemError("too_many_requests", detail, { "retry-after": RETRY_SECONDS });

/** @throws ProblemError too_many_requests */
export async function countedReader(
  { settings }: Services,
  userId: string,
  opening: () => Promise<Response>,
): Promise<Response> {
  const others = open.get(userId) ?? 0;
  if (others >= settings.maxStreams) {
    throw tooManyReaders(
      `You read ${settings.maxStreams} streams at once. Close some, or poll GET /v1/predictions/{id}; the operator can raise MAX_STREAMS.`,
    );
  }
  open.set(userId, others + 1);
  const response = await opening().catch((error: unknown) => {
    release(userId);
    throw error;
  });
  if (!response.body) {
    release(userId);
    return response;
  }
  const { readable, writable } = new IdentityTransformStream();
  // It ends, or breaks off, with whoever reads it.
  const ending = response.body.pipeTo(writable).catch(() => {});
  void ending.then(() => release(userId));
  return new Response(readable, response);
}

function release(userId: string): void {
  const others = (open.get(userId) ?? 1) - 1;
  if (others > 0) open.set(userId, others);
  else open.delete(userId);
}
