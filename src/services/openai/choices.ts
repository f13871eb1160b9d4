/** Answers that consist of choices, plain and streamed: chat completions and completions. */

import { interfaceOf } from "../../domain/models/remote.ts";
import { chatIdOf, completionIdOf } from "../../domain/openai/call.ts";
import { CHATS } from "../../domain/openai/chat.ts";
import { type ChoiceFormat, ChoiceStream, wholeOf } from "../../domain/openai/choice-stream.ts";
import { COMPLETIONS, completionInputOf } from "../../domain/openai/completion.ts";
import { embeddingsOf } from "../../domain/openai/embedding.ts";
import { limitOf, type Translation } from "../../domain/openai/translation.ts";
import { versionSchema } from "../../domain/schemas/version-schemas.ts";
import { invalidParameter } from "../../errors/openai.ts";
import { exactText } from "../../lib/exact-json.ts";
import type { EmbeddingRequest } from "../../protocol/openai/tasks.ts";
import { prediction as predictionShape } from "../../protocol/prediction.ts";
import type { EventStream } from "../access/concurrency-limit.ts";
import type { ResolvedVersion } from "../predictions/version-resolution.ts";
import type { Services } from "../services.ts";
import {
  type BegunCall,
  type Call,
  type EndedCall,
  readerOf,
  timeLimit,
  unixSeconds,
} from "./calls.ts";
import { brokenStream, failureOf, translateOrFail } from "./failure.ts";
import { failureBeforeOutput, readUntilOutput } from "./first-event.ts";
import { exactLog, type NumberedEntry } from "./log-reader.ts";
import { eventText, type Writer, writtenStream } from "./streams.ts";

export interface Answers<Choice, Piece> {
  format: ChoiceFormat<Choice, Piece>;
  idOf(predictionId: string): string;
}

export const CHAT_ANSWERS = { format: CHATS, idOf: chatIdOf };
export const COMPLETION_ANSWERS = { format: COMPLETIONS, idOf: completionIdOf };

export function wholeAnswer<Choice extends { index: number }, Piece>(
  services: Services,
  { format, idOf }: Answers<Choice, Piece>,
  { request, prediction, outputs }: EndedCall,
): object {
  const failure = failureOf(prediction, timeLimit(services, "plain"));
  if (failure) throw failure;
  const { id, created_at, metrics, cost } = prediction;
  const head = { id: idOf(id), created: unixSeconds(created_at), model: request.model };
  const limit = limitOf(request);
  return translateOrFail(() => wholeOf(format, { ...head, limit }, outputs, metrics, cost));
}

/**
 * The stream of an answer. Leaving it cancels the prediction.
 * @throws OpenAiProblem when it fails before its first output
 */
export async function answerStream<Choice extends { index: number }, Piece>(
  services: Services,
  { format, idOf }: Answers<Choice, Piece>,
  begun: BegunCall,
  includeUsage: boolean,
): Promise<EventStream> {
  const seconds = timeLimit(services, "stream");
  const reader = readerOf(services, begun, seconds, exactLog);
  const held = await readUntilOutput(reader);
  const failure = failureBeforeOutput(held, seconds);
  if (failure) throw failure;
  const { id, created_at, request } = begun;
  const head = { id: idOf(id), created: unixSeconds(created_at), model: request.model };
  const translation = new ChoiceStream(format, { ...head, limit: limitOf(request), includeUsage });
  return writtenStream(reader, new ChunkWriter(translation, seconds), held);
}

class ChunkWriter implements Writer {
  readonly #translation: Translation;
  readonly #seconds: number;

  constructor(translation: Translation, seconds: number) {
    this.#translation = translation;
    this.#seconds = seconds;
  }

  write(entry: NumberedEntry): string {
    const isEnd = entry.event === "done";
    const failure = isEnd && failureOf(predictionShape.parse(entry.data), this.#seconds);
    if (failure) throw failure;
    const data = this.#translation.take(entry).map((chunk) => exactText(chunk));
    if (isEnd) data.push("[DONE]");
    const last = data.length - 1;
    return data.map((text, n) => eventText(text, n === last ? entry.id : undefined)).join("");
  }

  fail(error: unknown): string {
    return eventText(exactText({ error: brokenStream(error).error }));
  }
}

/** @throws OpenAiProblem when the model takes no such prompt */
export function completionBody({ version }: ResolvedVersion, body: Call["body"]): Call["body"] {
  if (interfaceOf(version.configuration) === "vendora") return body;
  const { model, stream } = body;
  const input = completionInputOf(body, versionSchema(version.schemas, "input"));
  if (input) return { ...input, model, ...(stream && { stream }) };
  const message = `'${model}' accepts one text prompt per request. Send a separate request for each prompt.`;
  throw invalidParameter("prompt", "invalid_value", message);
}

/** Embeddings in the requested format, independent of the container's. */
export function embeddingList(
  services: Services,
  { model, encoding_format }: Pick<EmbeddingRequest, "model" | "encoding_format">,
  { prediction, outputs }: EndedCall,
): object {
  const failure = failureOf(prediction, timeLimit(services, "plain"));
  if (failure) throw failure;
  const format = encoding_format ?? "float";
  return translateOrFail(() => embeddingsOf(model, outputs, format, prediction));
}
