/** Reading the event log of a prediction as a stream. */
import { ProblemError } from "../../errors.ts";
import {
  openStream,
  type PredictionStub,
  renewed,
  type StreamOptions,
} from "../../objects/prediction/stub.ts";
import { tooManyConnections } from "../accounts/concurrency-limit.ts";
import type { Services } from "../services.ts";
import { type EventStream, piped } from "./event-stream.ts";

/**
 * @returns undefined when no further event will come
 * @throws ProblemError not_found, too_many_requests
 */
export async function readLog(
  services: Services,
  stub: PredictionStub,
  id: string,
  options: Omit<StreamOptions, "reader">,
): Promise<EventStream | undefined> {
  const reader = crypto.randomUUID();
  const { body } = await openLog(stub, id, { ...options, reader });
  return body ? readerStream(services, stub, body, reader) : undefined;
}

/** @returns a 204 when no further event will come @throws ProblemError not_found, too_many_requests */
export async function openLog(
  stub: PredictionStub,
  id: string,
  options: StreamOptions,
): Promise<Response> {
  const response = await openStream(stub, options);
  if (response.status === 404) {
    const detail = `The events of the prediction '${id}' are no longer kept.`;
    throw new ProblemError("not_found", detail);
  }
  if (response.status === 429) {
    throw tooManyConnections(
      "This prediction has as many readers as it may have. Close some, or poll it.",
    );
  }
  return response;
}

/** Its object ends it by the name of its reader. */
export const readerStream = (
  { env }: Services,
  stub: PredictionStub,
  body: ReadableStream<Uint8Array>,
  reader: string,
): EventStream => piped(body, (words) => renewed(env, stub).endReader(reader, words));
