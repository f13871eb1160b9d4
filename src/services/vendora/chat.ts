/** Chat completions: plain and streamed. */

import { completionOf } from "../../domain/vendora/chat-completion.ts";
import { limitOf } from "../../domain/vendora/chat-limit.ts";
import { ChatStream } from "../../domain/vendora/chat-stream.ts";
import { chatIdOf } from "../../domain/vendora/ids.ts";
import { prediction as predictionShape } from "../../protocol/prediction.ts";
import type { ChatRequest } from "../../protocol/vendora/chat.ts";
import type { CreatedPrediction } from "../predictions/creation.ts";
import type { EventStream } from "../predictions/event-stream.ts";
import type { Services } from "../services.ts";
import { type EndedCall, readerOf, timeLimit, unixSeconds } from "./calls.ts";
import { brokenStream, failureOf, translateOrFail } from "./failure.ts";
import { failureBeforeOutput, readUntilOutput } from "./first-event.ts";
import type { NumberedEntry } from "./log-reader.ts";
import { eventText, type Writer, writtenStream } from "./streams.ts";

export function chatCompletion(
  services: Services,
  { request, prediction, outputs }: EndedCall,
): object {
  const failure = failureOf(prediction, timeLimit(services, "plain"));
  if (failure) throw failure;
  const { id, created_at, metrics } = prediction;
  const head = { id: chatIdOf(id), created: unixSeconds(created_at), model: request.model };
  const limit = limitOf(request);
  return translateOrFail(() => completionOf({ ...head, limit }, outputs, metrics));
}

/**
 * The stream of a completion. Leaving it cancels the prediction.
 * @throws VendoraProblem when it fails before its first output
 */
export async function chatStream(
  services: Services,
  begun: CreatedPrediction,
  request: Pick<ChatRequest, "model" | "stream_options"> & Record<string, unknown>,
): Promise<EventStream> {
  const seconds = timeLimit(services, "stream");
  const reader = readerOf(services, begun, seconds);
  const held = await readUntilOutput(reader);
  const failure = failureBeforeOutput(held, seconds);
  if (failure) throw failure;
  const { model, stream_options } = request;
  const includeUsage = stream_options?.include_usage === true;
  const head = { id: chatIdOf(begun.id), created: unixSeconds(begun.created_at), model };
  const translation = new ChatStream({ ...head, limit: limitOf(request), includeUsage });
  return writtenStream(reader, new ChatWriter(translation, seconds), held);
}

class ChatWriter implements Writer {
  readonly #translation: ChatStream;
  readonly #seconds: number;

  constructor(translation: ChatStream, seconds: number) {
    this.#translation = translation;
    this.#seconds = seconds;
  }

  write(entry: NumberedEntry): string {
    const isEnd = entry.event === "done";
    const failure = isEnd && failureOf(predictionShape.parse(entry.data), this.#seconds);
    if (failure) throw failure;
    const data = this.#translation.take(entry).map((chunk) => JSON.stringify(chunk));
    if (isEnd) data.push("[DONE]");
    const last = data.length - 1;
    return data.map((text, n) => eventText(text, n === last ? entry.id : undefined)).join("");
  }

  fail(error: unknown): string {
    return eventText(JSON.stringify({ error: brokenStream(error).error }));
  }
}
