/** The output of a model that speaks: bytes, or files. */
import { isObject } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import { type SpeechUsage, speechEvent } from "../../protocol/openai/audio.ts";
import { valuesIn } from "./output-values.ts";
import { TranslationFailed } from "./translation.ts";

export type SpeechPart =
  | { kind: "file"; name: string }
  | { kind: "bytes"; bytes: Uint8Array<ArrayBuffer>; type: string | undefined }
  | { kind: "usage"; usage: SpeechUsage };

/** The fields of an output that may have the sound, if it has more than that. */
export const SOUND_PLACES = [
  "audio_out",
  "audio",
  "audio_output",
  "audio_file",
  "output",
  "speech",
  "wav",
];

const EXPECTED =
  "Expected is a file, base64, a list of these, or an object with one of these as 'audio'.";

/**
 * Yields the parts of one output.
 * @param predictionId whose files they have to be
 * @throws TranslationFailed
 */
export function* speechParts(predictionId: string, output: Json): Generator<SpeechPart> {
  for (const value of valuesIn(output)) yield* partsOf(predictionId, value);
}

function* partsOf(predictionId: string, value: Json): Generator<SpeechPart> {
  const event = speechEvent.safeParse(value).data;
  if (event?.type === "speech.audio.done") {
    if (event.usage) yield { kind: "usage", usage: event.usage };
  } else if (event) {
    yield { kind: "bytes", bytes: decoded(event.audio), type: event.content_type };
  } else if (typeof value === "string") {
    const name = fileIn(predictionId, value);
    yield name === undefined
      ? { kind: "bytes", bytes: decoded(value), type: undefined }
      : { kind: "file", name };
  } else {
    const place = isObject(value)
      ? SOUND_PLACES.find((one) => typeof value[one] === "string")
      : undefined;
    const sound = place !== undefined && isObject(value) ? value[place] : undefined;
    if (sound === undefined)
      throw new TranslationFailed(`The model's output has no sound. ${EXPECTED}`);
    yield* partsOf(predictionId, sound);
  }
}

/** Returns the name of a file of the prediction's output, by its URL. */
function fileIn(predictionId: string, url: string): string | undefined {
  const prefix = `/v1/files/${predictionId}/`;
  const path = /^https?:/.test(url) ? URL.parse(url)?.pathname : undefined;
  if (!path?.startsWith(prefix)) return undefined;
  try {
    return decodeURIComponent(path.slice(prefix.length));
  } catch {
    return undefined;
  }
}

function decoded(base64: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0));
  } catch {
    throw new TranslationFailed(
      `The model's output has a text that is neither a file of it nor base64. ${EXPECTED}`,
    );
  }
}
