/**
 * Speech as a stream of bytes, or of events with them. The first bytes are sent while the model is still
 * running.
 */
import { servedType } from "../../domain/files/file-type.ts";
import {
  formatOf,
  OPAQUE,
  type SpeechPart,
  speechParts,
  typeOfSound,
  wavPart,
} from "../../domain/openai/speech.ts";
import { costIn, NO_COST, TranslationFailed } from "../../domain/openai/translation.ts";
import { invalidParameter } from "../../errors/openai.ts";
import { exactText } from "../../lib/exact-json.ts";
import { EVENT_STREAM, HEARTBEAT } from "../../lib/sse.ts";
import type { SpeechRequest, SpeechUsage } from "../../protocol/openai/audio.ts";
import { type Prediction, prediction } from "../../protocol/prediction.ts";
import { factsOf, fileKey, getFile } from "../../storage/files/files.ts";
import type { EventStream } from "../access/concurrency-limit.ts";
import type { CreatedPrediction } from "../predictions/create-object.ts";
import type { Services } from "../services.ts";
import { readerOf, timeLimit } from "./calls.ts";
import { asOpenAiProblem, brokenStream, failureOf } from "./failure.ts";
import { answererOf, type LogReader } from "./log-reader.ts";
import { answeredByComment, eventText } from "./streams.ts";

export interface SpeechStream extends EventStream {
  contentType: string;
}

export type SpeechOptions = Pick<SpeechRequest, "response_format" | "stream_format"> & {
  /** Whether the model gives several files, one after the other. */
  inParts: boolean;
  /** Aborts when the client has disconnected: nothing is written while the model is silent. */
  signal: AbortSignal;
};

/**
 * Returns the stream of a call. Leaving it cancels the prediction.
 * @throws OpenAiProblem when it fails before its first sound, or the sound has another format than was asked
 * for
 */
export async function speechStream(
  services: Services,
  created: CreatedPrediction,
  { response_format, stream_format, inParts, signal }: SpeechOptions,
): Promise<SpeechStream> {
  const seconds = timeLimit(services, "stream");
  const reader = readerOf(services, created, seconds);
  const leave = () => reader.cancel();
  signal.addEventListener("abort", leave);
  const sounds = soundsOf(services, { id: created.id, reader, seconds, inParts });
  const isEvents = stream_format === "sse";
  try {
    const first = await firstOf(sounds, isEvents);
    const type = first.kind === "bytes" ? first.type : OPAQUE;
    checkFormat(response_format, type);
    return {
      ...written(sounds, first, isEvents ? EVENTS : BYTES, leave),
      ...(first.kind !== "idle" && { answeredBy: reader.answeredBy }),
      contentType: isEvents ? EVENT_STREAM : servedType(type),
    };
  } catch (error) {
    await leave();
    throw asOpenAiProblem(error);
  }
}

/** Returns the first sound. Events may begin with a heartbeat, but bytes have to have a type. */
async function firstOf(sounds: AsyncGenerator<Sound>, isEvents: boolean): Promise<Sound> {
  for (;;) {
    const { value, done } = await sounds.next();
    if (done) throw new Error("the sounds have no end");
    if (isEvents || value.kind !== "idle") return value;
  }
}

/**
 * Checks the sound's format. Nothing is converted: a Cog model may make one format alone, and a server any.
 */
function checkFormat(asked: SpeechRequest["response_format"], type: string): void {
  const made = formatOf(type);
  if (asked == null || made === undefined || made === asked) return;
  const message = `The model returns '${made}', not '${asked}'. Set 'response_format' to '${made}', or omit it.`;
  throw invalidParameter("response_format", "unsupported_parameter", message);
}

interface Form {
  write(sound: Sound): Uint8Array | undefined;
  /** Returns undefined to break the body off, so that it does not look complete. */
  fail(error: unknown): string | undefined;
  words(text: string): string | undefined;
}

const encoder = new TextEncoder();

const BYTES: Form = {
  write: (sound) => (sound.kind === "bytes" ? sound.bytes : undefined),
  fail: () => undefined,
  words: () => undefined,
};

const EVENTS: Form = {
  write(sound) {
    if (sound.kind === "idle") return encoder.encode(HEARTBEAT);
    if (sound.kind === "bytes") {
      const event = { type: "speech.audio.delta", audio: toBase64(sound.bytes) };
      return encoder.encode(eventText(exactText(event)));
    }
    const { prediction } = sound;
    const cost = { ...NO_COST, ...costIn(prediction.cost) };
    const usage = { ...(sound.usage ?? usageOf(prediction)), ...cost };
    const event = eventText(exactText({ type: "speech.audio.done", usage }));
    // The stream may have begun before the version was known.
    return encoder.encode(answeredByComment(answererOf(prediction)) + event);
  },
  fail: (error) => eventText(exactText({ error: brokenStream(error).error })),
  words: (text) => text,
};

const toBase64 = (bytes: Uint8Array) => bytes.toBase64();

function usageOf({ metrics }: Prediction): SpeechUsage {
  const { input_tokens = 0, output_tokens = 0 } = metrics ?? {};
  return { input_tokens, output_tokens, total_tokens: input_tokens + output_tokens };
}

function written(
  sounds: AsyncGenerator<Sound>,
  first: Sound,
  form: Form,
  leave: () => Promise<void>,
): EventStream {
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const waiting = [first];
  let lastWords: string | undefined;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const close = (text: string | undefined, error: unknown) => {
        if (text === undefined) controller.error(error);
        else {
          controller.enqueue(encoder.encode(text));
          controller.close();
        }
        resolve();
      };
      try {
        // The loop goes on until it enqueues: the runtime does not repeat a pull that enqueues nothing.
        for (let bytes: Uint8Array | undefined; !bytes; ) {
          const sound = waiting.shift() ?? (await sounds.next()).value;
          bytes = form.write(sound);
          if (bytes) controller.enqueue(bytes);
          if (sound.kind !== "end") continue;
          controller.close();
          return resolve();
        }
      } catch (error) {
        close(lastWords === undefined ? form.fail(error) : form.words(lastWords), error);
        await leave();
      }
    },
    async cancel() {
      resolve();
      await leave();
    },
  });
  return {
    body,
    over,
    end(words) {
      lastWords = words;
      return leave();
    },
  };
}

/** A piece of sound. `idle`: nothing has come for a while. */
type Sound =
  | { kind: "bytes"; bytes: Uint8Array; type: string }
  | { kind: "idle" }
  | { kind: "end"; usage: SpeechUsage | undefined; prediction: Prediction };

interface SoundSource {
  id: string;
  reader: LogReader;
  /** The seconds after which the prediction is canceled. */
  seconds: number;
  /** Whether several files follow each other. */
  inParts: boolean;
}

/** @throws OpenAiProblem for a prediction that fails; TranslationFailed for an output that is no sound */
async function* soundsOf(services: Services, source: SoundSource): AsyncGenerator<Sound> {
  const { id, reader, seconds, inParts } = source;
  let usage: SpeechUsage | undefined;
  let count = 0;
  for (;;) {
    const entries = await reader.next();
    if (!entries) throw new Error(`the log of ${id} has no end`);
    if (entries.length === 0) yield { kind: "idle" };
    for (const { event, data } of entries) {
      if (event === "done") {
        const ended = prediction.parse(data);
        const failure = failureOf(ended, seconds);
        if (failure) throw failure;
        if (count === 0) throw new TranslationFailed("The model's output has no audio.");
        yield { kind: "end", usage, prediction: ended };
        return;
      }
      if (event !== "output") continue;
      for (const part of speechParts(id, data)) {
        if (part.kind === "usage") usage = part.usage;
        else yield* bytesOf(services, id, part, { isFirst: count++ === 0, inParts });
      }
    }
  }
}

interface Place {
  isFirst: boolean;
  inParts: boolean;
}

async function* bytesOf(
  services: Services,
  id: string,
  part: Exclude<SpeechPart, { kind: "usage" }>,
  { isFirst, inParts }: Place,
): AsyncGenerator<Sound> {
  const joined = (bytes: Uint8Array, type: string) =>
    inParts ? wavPart(bytes, type, isFirst) : bytes;
  if (part.kind === "bytes") {
    const type = part.type ?? typeOfSound(part.bytes);
    // Bytes without a header continue the file before.
    const bytes = type === OPAQUE ? part.bytes : joined(part.bytes, type);
    yield { kind: "bytes", bytes, type };
    return;
  }
  const file = await getFile(services.env.FILES, fileKey(id, part.name));
  if (!file) throw new TranslationFailed("The file of the model's output has been deleted.");
  const { mime_type } = factsOf(file);
  let isBeginning = true;
  for await (const chunk of file.body) {
    const type = isBeginning && mime_type === OPAQUE ? typeOfSound(chunk) : mime_type;
    yield { kind: "bytes", bytes: isBeginning ? joined(chunk, type) : chunk, type };
    isBeginning = false;
  }
}
