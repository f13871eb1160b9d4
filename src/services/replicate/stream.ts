/** Event streams in Replicate's format, which clients read at a signed URL. */
import { replicateErrorEvent, replicateEvent } from "../../domain/replicate/events.ts";
import { ProblemError } from "../../errors/errors.ts";
import type { SignedQuery } from "../../protocol/file.ts";
import { findPrincipal } from "../../storage/accounts/reader-access.ts";
import { findTokenById } from "../../storage/accounts/tokens.ts";
import { cached } from "../../storage/cache.ts";
import { type Caller, hasAccessStill } from "../access/access.ts";
import { countStream, type EventStream } from "../access/concurrency-limit.ts";
import { requireSignature } from "../files/signed-urls.ts";
import { LogReader } from "../openai/log-reader.ts";
import { writtenStream } from "../openai/streams.ts";
import { openLog } from "../predictions/event-log.ts";
import { predictionStub } from "../predictions/predictions.ts";
import type { Services } from "../services.ts";

const tokens = cached({ max: 10_000 }, ({ db }: Services, id: string) => findTokenById(db, id));

/**
 * Returns the caller that a stream's URL was made for.
 * @throws ProblemError forbidden, unauthenticated once its token has ended
 */
export async function streamCaller(
  services: Services,
  id: string,
  tokenId: string,
  query: SignedQuery,
): Promise<Caller> {
  await requireSignature(services, ["stream", id, tokenId], query);
  const found = await tokens.get(services, tokenId);
  if (!found || !isValid(found)) throw new ProblemError("unauthenticated", ENDED);
  return found;
}

const isValid = ({ expires_at }: { expires_at: number | null }) =>
  expires_at === null || expires_at > Date.now();

const ENDED =
  "The access token that this URL was issued to has ended, or no longer covers the prediction. Get the prediction with another token.";

/**
 * @param after the ID of the last event that the reader has; 0: none
 * @returns null when no further event will come
 * @throws ProblemError not_found, forbidden, too_many_requests
 */
export async function replicateStream(
  services: Services,
  caller: Caller,
  id: string,
  after: number,
): Promise<EventStream | null> {
  const stub = await predictionStub(services, caller, id);
  const { body } = await openLog(services, stub, id, { after });
  if (!body) return null;
  const opening = countStream(services, caller.user_id, async () => {
    const reader = new LogReader(services, stub, id, undefined, body, (json) => json, after);
    return writtenStream(reader, {
      write: (entry) => replicateEvent(entry.id, entry.event, String(entry.data)),
      fail: (error) =>
        replicateErrorEvent(
          error instanceof ProblemError
            ? error.message
            : "The stream was interrupted. Open it again.",
        ),
    });
  });
  return opening.catch(async (error: unknown) => {
    // The account has as many streams as it may.
    await body.cancel();
    throw error;
  });
}

/** Returns the last event of a stream whose token has ended; undefined while it is valid. */
export async function streamEnd(services: Services, caller: Caller): Promise<string | undefined> {
  const { token_id: id, user_id } = caller;
  const now = await findPrincipal(services.db, { kind: "token", id, user_id });
  return now && (await hasAccessStill(services, now, caller))
    ? undefined
    : replicateErrorEvent(ENDED);
}
