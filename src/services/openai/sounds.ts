/** The sound of a prediction that speaks, from its event log and its files, while they arrive. */
import {
  OPAQUE,
  type SpeechPart,
  speechParts,
  typeOfSound,
  wavPart,
} from "../../domain/openai/speech.ts";
import { TranslationFailed } from "../../domain/openai/translation.ts";
import type { SpeechUsage } from "../../protocol/openai/audio.ts";
import { type Prediction, prediction } from "../../protocol/prediction.ts";
import { factsOf, fileKey, getFile } from "../../storage/files/files.ts";
import type { Services } from "../services.ts";
import { failureOf } from "./failure.ts";
import type { LogReader } from "./log-reader.ts";

/** A piece of sound. `idle`: nothing has come for a while. */
export type Sound =
  | { kind: "bytes"; bytes: Uint8Array; type: string }
  | { kind: "idle" }
  | { kind: "end"; usage: SpeechUsage | undefined; prediction: Prediction };

export interface SoundSource {
  id: string;
  reader: LogReader;
  /** The seconds after which the prediction is canceled. */
  seconds: number;
  /** Whether several files follow each other. */
  inParts: boolean;
}

/** @throws OpenAiProblem for a prediction that fails; TranslationFailed for an output that is no sound */
export async function* soundsOf(services: Services, source: SoundSource): AsyncGenerator<Sound> {
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
        if (count === 0) throw new TranslationFailed("The model's output has no sound.");
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
