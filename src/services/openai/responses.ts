/** Reads, replays, cancels and deletes existing responses. */

import { predictionIdOf } from "../../domain/openai/call.ts";
import { itemPage, itemsOf, listedItems } from "../../domain/openai/conversation.ts";
import { responseOf } from "../../domain/openai/response-stream.ts";
import { ProblemError } from "../../errors/errors.ts";
import { invalidParameter, OpenAiProblem } from "../../errors/openai.ts";
import { SNAPSHOT_CHARS, type Snapshot } from "../../objects/prediction/rpc-types.ts";
import { type PredictionStub, renewed } from "../../objects/prediction/stub.ts";
import {
  type ItemsQuery,
  type ResponseRequest,
  responseRequest,
} from "../../protocol/openai/response.ts";
import type { PredictionWithIO } from "../../protocol/prediction.ts";
import type { Caller } from "../accounts/caller.ts";
import type { EventStream } from "../predictions/event-stream.ts";
import { predictionStub, removePrediction } from "../predictions/predictions.ts";
import { readWhole } from "../predictions/whole-reads.ts";
import type { Services } from "../services.ts";
import { contentOf, timeLimit, unixSeconds } from "./calls.ts";
import { LogReader } from "./log-reader.ts";
import { exactLog } from "./parsed-log.ts";
import { ResponseWriter } from "./response-writer.ts";
import { writtenStream } from "./streams.ts";

/** How long a cancel waits for the response to end. */
const CANCEL_WAIT_SECONDS = 5;

/** A response with its request. */
export interface StoredResponse {
  id: string;
  stub: PredictionStub;
  prediction: PredictionWithIO;
  request: ResponseRequest;
}

/** @throws OpenAiProblem not_found, also when it was not to be stored, or was deleted */
export async function findResponse(
  services: Services,
  caller: Caller,
  id: string,
): Promise<StoredResponse> {
  const found = await lookUp(services, caller, id);
  if (found && found.request.store !== false) return found;
  const message = `Response with id '${id.slice(0, 100)}' not found.`;
  throw new OpenAiProblem(404, { message, param: "response_id", code: "response_not_found" });
}

/**
 * Finds a response that has ended, also if it was not to be stored.
 * @returns undefined when it does not exist, or was deleted
 */
export async function findEnded(
  services: Services,
  caller: Caller,
  id: string,
): Promise<StoredResponse | "under way" | undefined> {
  const { stub, snapshot } = await peek(services, caller, id);
  if (snapshot?.terminal === false) return "under way";
  return stub && snapshot && read(services, caller, id, { stub, snapshot });
}

async function lookUp(services: Services, caller: Caller, id: string) {
  const { stub, snapshot } = await peek(services, caller, id);
  return stub && snapshot && read(services, caller, id, { stub, snapshot });
}

async function peek(services: Services, caller: Caller, id: string) {
  const predictionId = predictionIdOf(id);
  if (!predictionId) return {};
  const stub = await predictionStub(services, caller, predictionId).catch((error: unknown) => {
    if (error instanceof ProblemError && error.code === "not_found") return undefined;
    throw error;
  });
  return { stub, snapshot: await stub?.get(SNAPSHOT_CHARS) };
}

async function read(
  services: Services,
  caller: Caller,
  id: string,
  { stub, snapshot }: { stub: PredictionStub; snapshot: Snapshot },
): Promise<StoredResponse | undefined> {
  if (snapshot.call !== "responses") return undefined;
  const reading = () => contentOf(services, stub, snapshot);
  const isSmall = snapshot.body?.length === 1;
  const prediction = await (isSmall ? reading() : readWhole(caller.user_id, reading));
  if (!prediction || prediction.data_removed) return undefined;
  // A prediction whose input is not a valid request is no response.
  const request = responseRequest.safeParse(prediction.input).data;
  return request && { id, stub, prediction, request };
}

/** Returns the resource in its current state. */
export const presentResponse = ({ id, prediction, request }: Omit<StoredResponse, "stub">) =>
  responseOf(headOf(id, prediction.created_at, request), prediction);

/** @param createdAt Unix ms or a timestamp */
export const headOf = (id: string, createdAt: number | string, request: ResponseRequest) => ({
  id,
  created_at: unixSeconds(createdAt),
  model: request.model,
  request,
});

/** Returns all events after this number, including those to come. */
export async function replayResponse(
  services: Services,
  { id, stub, prediction, request }: StoredResponse,
  startingAfter: number,
): Promise<EventStream> {
  const seconds = timeLimit(services, "stream");
  const head = headOf(id, prediction.created_at, request);
  const writer = new ResponseWriter(head, seconds, startingAfter);
  return writtenStream(
    new LogReader(services, stub, prediction.id, undefined, undefined, exactLog),
    writer,
  );
}

export function listInputItems({ id, request }: StoredResponse, query: ItemsQuery): object {
  const items = listedItems(itemsOf(request.input), id);
  if (query.after !== undefined && !items.some((item) => item.id === query.after)) {
    throw invalidParameter(
      "after",
      "invalid_value",
      `There is no item '${query.after.slice(0, 100)}'.`,
    );
  }
  return itemPage(items, query);
}

/** @throws OpenAiProblem when it is not a background response, or has already ended */
export async function cancelResponse(
  services: Services,
  caller: Caller,
  { request, stub, id }: StoredResponse,
): Promise<object> {
  if (request.background !== true) {
    throw invalidParameter("response_id", "invalid_value", "Cannot cancel a synchronous response.");
  }
  if ((await stub.cancel("canceled by its owner")) !== "accepted") {
    const { status } = await findResponse(services, caller, id).then(
      ({ prediction }) => prediction,
    );
    if (status !== "canceled") {
      const message = "Cannot cancel a response that has already ended: retrieve it instead.";
      throw invalidParameter("response_id", "invalid_value", message);
    }
  }
  await renewed(services.env, stub, CANCEL_WAIT_SECONDS).waitForEnd(CANCEL_WAIT_SECONDS, 0);
  return presentResponse(await findResponse(services, caller, id));
}

/** @throws OpenAiProblem while it is in progress */
export async function deleteResponse(
  services: Services,
  caller: Caller,
  { id, prediction }: StoredResponse,
): Promise<object> {
  await removePrediction(services, caller, prediction.id).catch((error: unknown) => {
    if (!(error instanceof ProblemError && error.code === "conflict")) throw error;
    const message = "The response is still in progress: cancel it first.";
    throw invalidParameter("response_id", "response_in_progress", message);
  });
  return { id, object: "response", deleted: true };
}
