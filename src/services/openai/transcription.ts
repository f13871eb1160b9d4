/** Transcriptions and translations, in each plain format and streamed. */

import { interfaceOf } from "../../domain/models/remote.ts";
import {
  type Asked,
  formatted,
  passedOn,
  TIMED_FORMATS,
  TranscriptStream,
  transcriptOf,
  withCost,
} from "../../domain/openai/transcript.ts";
import type { HearingCall } from "../../domain/openai/transcription-input.ts";
import { rootKeywords } from "../../domain/schemas/version-schemas.ts";
import { invalidParameter } from "../../errors/openai.ts";
import { exactText } from "../../lib/exact-json.ts";
import type { TranscriptFormat, TranscriptionRequest } from "../../protocol/openai/audio.ts";
import { prediction as predictionShape } from "../../protocol/prediction.ts";
import type { EventStream } from "../access/concurrency-limit.ts";
import type { CreatedPrediction } from "../predictions/create-object.ts";
import type { ResolvedVersion } from "../predictions/version-resolution.ts";
import type { Services } from "../services.ts";
import { type EndedCall, readerOf, timeLimit } from "./calls.ts";
import { brokenStream, failureOf, translateOrFail } from "./failure.ts";
import { failureBeforeOutput, readUntilOutput } from "./first-event.ts";
import type { NumberedEntry } from "./log-reader.ts";
import { orUnfit } from "./model-input.ts";
import { eventText, type Writer, writtenStream } from "./streams.ts";

/**
 * Refuses a format that a Cog model cannot answer in, as far as its schemas say so before it runs.
 * @throws OpenAiProblem unsupported_parameter
 */
export function checkFormat(
  { version }: ResolvedVersion,
  { response_format, stream }: Pick<TranscriptionRequest, "response_format" | "stream">,
): void {
  if (interfaceOf(version.configuration) === "vendora" || !isTimed(response_format)) return;
  const { type, items, format } = rootKeywords(version.schemas, "output");
  const isPlain = format === undefined && (type === "string" || isTextList(type, items));
  if (!isPlain && !stream) return;
  const why = stream ? "a stream has text without times" : "the model gives text without times";
  const message = `'response_format' cannot be '${response_format}': ${why}. Use 'json' or 'text'.`;
  throw invalidParameter("response_format", "unsupported_parameter", message);
}

const isTimed = (format: TranscriptFormat | null | undefined) =>
  format != null && TIMED_FORMATS.includes(format);

const isTextList = (type: unknown, items: unknown) =>
  type === "array" &&
  typeof items === "object" &&
  items !== null &&
  "type" in items &&
  items.type === "string";

type TranscriptOptions = Pick<
  TranscriptionRequest,
  "response_format" | "language" | "temperature" | "timestamp_granularities"
>;

/** @throws OpenAiProblem when it has failed, or has no transcript that this format can express */
export function transcription(
  services: Services,
  call: HearingCall,
  { version }: ResolvedVersion,
  request: TranscriptOptions,
  { prediction, outputs }: EndedCall,
): string | object {
  const failure = failureOf(prediction, timeLimit(services, "plain"));
  if (failure) throw failure;
  const isTranslation = call === "audio_translations";
  const { response_format, language, temperature, timestamp_granularities } = request;
  const asked: Asked = {
    format: response_format ?? "json",
    isTranslation,
    language: language ?? undefined,
    temperature: temperature ?? undefined,
    granularities: timestamp_granularities ?? undefined,
  };
  const transcript = () => transcriptOf(outputs, isTranslation);
  const isServer = interfaceOf(version.configuration) === "vendora";
  const write = () =>
    isServer ? passedOn(outputs[0], transcript, asked) : formatted(transcript(), asked);
  const answer = translateOrFail(() => orUnfit(write));
  return typeof answer === "string" ? answer : withCost(answer, prediction.cost);
}

/**
 * Returns the stream of a call. Leaving it cancels the prediction.
 * @throws OpenAiProblem when it fails before its first output
 */
export async function transcriptionStream(
  services: Services,
  created: CreatedPrediction,
): Promise<EventStream> {
  const seconds = timeLimit(services, "stream");
  const reader = readerOf(services, created, seconds);
  const held = await readUntilOutput(reader);
  const failure = failureBeforeOutput(held, seconds);
  if (failure) throw failure;
  return writtenStream(reader, new TranscriptWriter(seconds), held);
}

class TranscriptWriter implements Writer {
  readonly #translation = new TranscriptStream();
  readonly #seconds: number;

  constructor(seconds: number) {
    this.#seconds = seconds;
  }

  write(entry: NumberedEntry): string {
    const isEnd = entry.event === "done";
    const failure = isEnd && failureOf(predictionShape.parse(entry.data), this.#seconds);
    if (failure) throw failure;
    return this.#translation
      .take(entry)
      .map((event) => eventText(exactText(event)))
      .join("");
  }

  fail(error: unknown): string {
    return eventText(exactText({ error: brokenStream(error).error }));
  }
}
