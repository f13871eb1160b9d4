/** Reads, replays, cancels and deletes existing responses. */

import { predictionIdOf } from "../../domain/openai/call.ts";
import { itemPage, itemsOf, listedItems } from "../../domain/openai/conversation.ts";
import type { ResponseHead } from "../../domain/openai/response-resource.ts";
import { ResponseStream, responseOf } from "../../domain/openai/response-stream.ts";
import { ProblemError } from "../../errors/errors.ts";
import { invalidParameter, OpenAiProblem } from "../../errors/openai.ts";
import { exactText } from "../../lib/exact-json.ts";
import { HEARTBEAT } from "../../lib/sse.ts";
import { logger } from "../../log.ts";
import {
  type PredictionStub,
  renewed,
  SNAPSHOT_CHARS,
  type Snapshot,
} from "../../objects/stubs/prediction.ts";
import {
  type ItemsQuery,
  type ResponseRequest,
  responseRequest,
} from "../../protocol/openai/response.ts";
import { type PredictionWithIO, prediction } from "../../protocol/prediction.ts";
import type { Caller } from "../access/access.ts";
import type { EventStream } from "../access/concurrency-limit.ts";
import { readWhole } from "../predictions/large-reads.ts";
import { predictionStub, removePrediction } from "../predictions/predictions.ts";
import type { Services } from "../services.ts";
import { contentOf, timeLimit, unixSeconds } from "./calls.ts";
import { failureOf } from "./failure.ts";
import { exactLog, LogReader, type NumberedEntry } from "./log-reader.ts";
import { eventText, type Writer, writtenStream } from "./streams.ts";

/**
 * When an event is repeated. Agents give up on a stream without events (codex after 300 s), and comments do
 * not count. Heartbeats come every 15 s: the first one after this time is the nearest to 30 s.
 */
const REPEAT_AFTER_MS = 22_500;

/** The size up to which a response is repeated; for a larger one only a comment is sent. */
const MAX_REPEATED_CHARS = 256 * 1024;

const BROKEN_OFF = new OpenAiProblem(500, {
  message: "The stream was interrupted on our side. GET the response to resume it.",
  code: "server_error",
});

const CANCEL_WAIT_SECONDS = 5;

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
      `Item '${query.after.slice(0, 100)}' not found.`,
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

export class ResponseWriter implements Writer {
  readonly #translation: ResponseStream;
  readonly #startingAfter: number;
  /** The time limit of callers that wait. */
  readonly #seconds: number;
  #last = -1;
  /** When the last event was sent, or repeated. */
  #sentAt = Date.now();
  #isTooLarge = false;

  /** @param startingAfter events up to this number are skipped */
  constructor(head: ResponseHead, timeoutSeconds: number, startingAfter = -1) {
    this.#translation = new ResponseStream(head);
    this.#startingAfter = startingAfter;
    this.#seconds = head.request.background === true ? Number.POSITIVE_INFINITY : timeoutSeconds;
  }

  write(entry: NumberedEntry): string {
    const failure =
      entry.event === "done" ? failureOf(prediction.parse(entry.data), this.#seconds) : undefined;
    if (failure?.status === 504) throw failure;
    const events = this.#translation.take(entry, Number(entry.id));
    this.#last = events.at(-1)?.sequence_number ?? this.#last;
    const sent = events.filter(({ sequence_number: n }) => n > this.#startingAfter);
    const last = sent.at(-1);
    if (last) this.#sentAt = Date.now();
    return sent
      .map((one) => eventText(exactText(one), one === last ? entry.id : undefined, one.type))
      .join("");
  }

  /**
   * Returns a heartbeat. It is not an event of the log: it has no id, and the number of the last event that
   * the reader has.
   */
  heartbeat(): string {
    const isDue = Date.now() - this.#sentAt >= REPEAT_AFTER_MS;
    if (this.#last === -1 || this.#isTooLarge || !isDue) return HEARTBEAT;
    const response = this.#translation.resource();
    const type = response.status === "queued" ? "response.queued" : "response.in_progress";
    const sequence_number = Math.max(this.#last, this.#startingAfter);
    const text = exactText({ type, sequence_number, response });
    this.#isTooLarge = text.length > MAX_REPEATED_CHARS;
    if (this.#isTooLarge) return HEARTBEAT;
    this.#sentAt = Date.now();
    return eventText(text, undefined, type);
  }

  /**
   * Returns the error event. It is not an event of the response, but of this stream alone. The two published
   * schemas of it differ.
   */
  fail(error: unknown): string {
    if (!(error instanceof OpenAiProblem)) {
      logger.error("Stream failed", { error });
    }
    const { message, code, param, type } =
      error instanceof OpenAiProblem ? error.error : BROKEN_OFF.error;
    const payload = { code, message, param };
    const event = {
      type: "error",
      sequence_number: this.#last + 1,
      ...payload,
      error: { type, ...payload },
    };
    return eventText(exactText(event), undefined, event.type);
  }
}
