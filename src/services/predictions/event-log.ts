/** Reading the event log of a prediction as a stream. */
import { ProblemError } from "../../errors/errors.ts";
import {
  openStream,
  type PredictionStub,
  type StreamOptions,
  type StreamReader,
  type TooManyReaders,
} from "../../objects/stubs/prediction.ts";
import type { Credential } from "../../storage/accounts/reader-access.ts";
import { accessLost } from "../access/access.ts";
import { tooManyConnections, tooManyOpen } from "../access/concurrency-limit.ts";
import type { Services } from "../services.ts";

/**
 * The reader of a stream that is passed on as its object made it: the object counts it for the account, and
 * ends it with the reader's access.
 * @param lastWords the last event of a stream that is ended so
 */
export const streamReader = (
  { settings }: Services,
  credential: Credential,
  lastWords: string,
): StreamReader => ({
  ...credential,
  max_streams: settings.maxStreams,
  last_words: lastWords,
});

/** @returns a 204 when no further event will come @throws ProblemError not_found, forbidden, too_many_requests */
export async function openLog(
  services: Services,
  stub: PredictionStub,
  id: string,
  options: StreamOptions,
): Promise<Response> {
  const response = await openStream(stub, options);
  if (response.status === 404) {
    const detail = `The events of the prediction '${id}' are no longer kept.`;
    throw new ProblemError("not_found", detail);
  }
  if (response.status === 403) throw accessLost();
  if (response.status === 429) throw await refusedReader(services, response);
  return response;
}

/** Returns the error of a refused stream. @param response of openStream or createAndFollow, a 429 */
export async function refusedReader(services: Services, response: Response): Promise<ProblemError> {
  const tooMany: TooManyReaders = "of the account";
  return (await response.text()) === tooMany
    ? tooManyOpen(services)
    : tooManyConnections("This prediction has too many open streams. Close some, or poll it.");
}
